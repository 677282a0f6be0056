"""The entity of a thread, as Durable Functions calls it: each operation is parsed, carried out and stored.

Theory. What an operation does is decided by the thread's log (`hosting.core`): a run is finished, a reset or a
deletion carried out. Here its outcome becomes the document that the engine commits, and the answer to the caller. An
operation may be delivered again after any crash, and finds its earlier work in the log and in the document's own mark.
It never raises on a caller's input. It raises only to be delivered again: when a store cannot be reached, when the
document that it was given is older than the log continues from, when a newer version of the app works on the thread,
and when the process is about to end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from hosting.core.entity.batch import Batch, Done, Operation, RefusedOperation, parse_batch, write_answer
from hosting.core.entity.called_run import answer_text, refusal_text
from hosting.core.hooks import OnEnd, Signal
from hosting.core.request.contents import limits_of
from hosting.core.request.fields import carried_request
from hosting.core.retention import begun, is_expired
from hosting.core.services import Services
from hosting.core.telemetry import carried_traceparent
from hosting.core.thread import commands
from hosting.core.thread.events import Accepted
from hosting.core.thread_operations import Forget, GoOn, Keep, Store
from hosting.errors import HostingError, InvalidFieldError, NewerVersionError, StoreUnavailableError, ThreadDeletedError
from hosting.model_options import OPTIONS
from hosting.names import Address, check_thread_id, is_id
from hosting.plan import AgentPlan
from hosting.ports import EntityEnd
from hosting.principal import Principal
from state.errors import UnreadableDocumentError
from state.extension import LogMark, host_of

logger = logging.getLogger(__name__)

RUN = "run"
DOTNET_REMINDER = "checkanddeleteifexpired"
"""The signal that a thread of the .NET package left for itself, for the time at which it was to end."""
T = TypeVar("T")

LONGEST_QUEUED_SECONDS = 30 * 86_400.0

Result = tuple[str | None, Done | RefusedOperation]


class UnfinishedError(Exception):
    """The operation is called for an outcome that it cannot wait for any longer: it is to be delivered again."""


class OperationInput(Struct, frozen=True):
    """An operation and the document before it: the engine's, or that of the operation before.

    `until` is when the platform's time for the whole batch comes to its end, by `Clocks.awake`.
    """

    address: Address
    text: str | None
    operation: Operation
    until: float


class BatchAnswer(Struct, frozen=True):
    """The state to store, a result per operation in order, and the rest of an ended thread."""

    state: str | None
    results: Sequence[Done | RefusedOperation]
    end: EntityEnd | None


class ThreadEntity:
    """The operations of the entity `dafx-<agent>`, for one agent and one event loop."""

    def __init__(self, planned: AgentPlan, services: Services, on_end: Sequence[OnEnd] = ()) -> None:
        """`on_end` says what the ends of runs signal."""
        self._agent = planned.name
        self._operations = services.operations
        self._deletion = services.deletion
        self._retention = services.retention
        self._documents = services.documents
        self._limits = limits_of(planned, services.settings)
        self._ttl_seconds = services.ttls.get(planned.name.lower())
        self._on_end = on_end
        self._turn = services.turn
        self._log = services.log
        self._clocks = services.log.clocks
        self._working_seconds = services.working_seconds
        self._handlers: dict[str, Callable[[OperationInput], Awaitable[Result]]] = {
            RUN: self._run,
            "store": self._store,
            "reset": self._reset,
            "delete": self._delete,
            "expire": self._expire,
            "trim": self._trim,
        }

    async def handle(self, payload: str) -> str:
        """Answer one batch of the host. Raises only to have the batch delivered again."""
        started_at = self._clocks.wall()
        answer = await self.answer(parse_batch(payload))
        return write_answer(answer.state, answer.results, started_at, answer.end)

    async def answer(self, batch: Batch) -> BatchAnswer:
        """Return the state as it is to be stored, and a result per operation in order; raises as `handle` does."""
        with self._turn():
            address = Address.of_entity(self._agent, batch.key)
            text, results = batch.state, list[Done | RefusedOperation]()
            until = self._clocks.awake() + self._working_seconds
            for operation in batch.operations:
                text, result = await self._operate(OperationInput(address, text, operation, until))
                results.append(result)
            return BatchAnswer(text, results, await self._deletion.end(address) if text is None else None)

    async def _operate(self, delivery: OperationInput) -> Result:
        name = delivery.operation.name.lower()
        handler = self._handlers.get("expire" if name == DOTNET_REMINDER else name)
        if handler is None:
            names = ", ".join(self._handlers)
            reason = f"The operation {delivery.operation.name[:80]!r} is not known. Known: {names}."
            return delivery.text, RefusedOperation(reason)
        try:
            return await handler(delivery)
        except (StoreUnavailableError, NewerVersionError):
            raise
        except HostingError as error:
            return delivery.text, RefusedOperation(error.detail)

    async def _run(self, delivery: OperationInput) -> Result:
        """Have a run ended: a run of the log, or the run that the operation carries, which is accepted here."""
        order = delivery.operation.value
        if not isinstance(order, dict):
            raise InvalidFieldError("The operation 'run' takes an object with 'run_id', or with 'message'.")
        run_id = order.get("run_id") or order.get("correlationId") or delivery.operation.id
        if not isinstance(run_id, str) or not is_id(run_id):
            raise InvalidFieldError(f"The run id {str(run_id)[:80]!r} is not valid.")
        if order.get("logged"):
            return await self._ended(delivery, run_id, None, _queued_seconds(order))
        try:
            accepted = await self._carried(delivery, run_id, order)
        except HostingError:  # the app may have had other limits when the run of this call was accepted
            is_call = order.get("orchestrationId") is not None
            run = await self._operations.find_run(delivery.address, run_id) if is_call else None
            if run is None:
                raise
            accepted = run.accepted
        outcome = await self._operations.accept(delivery.address, accepted)
        if isinstance(outcome, commands.Refused):
            return delivery.text, self._refused(delivery, accepted, outcome)
        return await self._ended(delivery, run_id, accepted)

    async def _carried(self, delivery: OperationInput, run_id: str, order: dict[str, Any]) -> Accepted:
        address, thread_id = delivery.address, delivery.address.thread_id
        if delivery.text is None:  # what another package stored keeps its id
            check_thread_id(thread_id, self._agent, address.owner)
        request = await asyncio.to_thread(carried_request, order, self._limits)  # a large one takes its time
        return Accepted(
            at=self._clocks.wall(),
            run_id=run_id,
            agent=self._agent,
            thread_id=thread_id,
            fingerprint=request.fingerprint(self._agent, thread_id),
            request=request,
            principal=_carried_principal(order.get("principal"), address),
            traceparent=carried_traceparent(None),
        )

    async def _ended(
        self, delivery: OperationInput, run_id: str, carried: Accepted | None, queued_seconds: float = 0.0
    ) -> Result:
        """Return the document after the run's end, and the run's outcome for its caller."""
        is_called = carried is not None and not delivery.operation.is_signal
        while True:
            left = delivery.until - self._clocks.awake()
            outcome = await self._operations.run(
                delivery.address,
                delivery.text,
                run_id,
                queued_seconds=queued_seconds,
                most_seconds=left,
                leaves_paused=not is_called,
            )
            if not (is_called and isinstance(outcome, GoOn)):  # only this operation can answer a caller
                break
            if outcome.is_spent:
                raise UnfinishedError(f"Run {run_id} continues in another process.")
            queued_seconds = outcome.queued_seconds
        match outcome:
            case Forget():
                is_deleted = await self._deletion.forget(delivery.address, delivery.text)
                return None if is_deleted else delivery.text, Done(run_id)
            case GoOn():
                order = {"run_id": run_id, "logged": True, "queued_seconds": round(outcome.queued_seconds, 3)}
                text, signals = await self._stored(delivery, outcome.so_far)
                signals = (Signal(*delivery.address.entity, RUN, order), *signals)
            case Store() | Keep():
                if carried is None and run_id not in {terminal.run_id for terminal in outcome.ended}:
                    await self._operations.log_unknown(delivery.address, run_id, outcome)
                text, signals = await self._stored(delivery, outcome)
        if carried is None or delivery.operation.is_signal:
            return text, Done(run_id, signals)
        run = await self._operations.find_run(delivery.address, run_id)
        if run is None or run.end is None:
            deleted = ThreadDeletedError(f"Run {run_id!r} was deleted with its thread.")
            return text, Done(refusal_text(carried, deleted), signals)
        return text, Done(answer_text(run, run.end, delivery.operation.value.get(OPTIONS)), signals)

    def _refused(self, delivery: OperationInput, accepted: Accepted, refused: commands.Refused) -> Done:
        """Return the answer to a call after its run was refused; a signal has no reader.

        A call that meets a deletion under way has it continued.
        """
        delete = Signal(*delivery.address.entity, "delete", {"logged": True})
        signals = (delete,) if refused.signal else ()
        if delivery.operation.is_signal:
            logger.warning(
                "A signal brought run %s of thread %s of agent %s, which is refused: %s",
                accepted.run_id,
                accepted.thread_id,
                accepted.agent,
                refused.error.code,
            )
            return Done(signals=signals)
        return Done(refusal_text(accepted, refused.error), signals)

    async def _stored(self, delivery: OperationInput, outcome: Store | Keep) -> tuple[str | None, tuple[Signal, ...]]:
        """Return the document of an outcome, and the signals of its commit: of the runs that have ended."""
        address, text, signals = delivery.address, delivery.text, tuple[Signal, ...]()
        if isinstance(outcome, Store):
            before, head = self._mark(address, text), outcome.head
            if max(head.reset_at, head.rewound_at) > (0 if before is None else before.position):
                await self._deletion.drop_uncounted(address, head.epoch)
            text = await self._documents.store(address, text, outcome, self._ttl_seconds)
            if before is not None and self._retention.is_due(before, outcome.snapshot.position):
                await self._retention.trim(address, before)
                await self._deletion.erase_unused(address, delivery.text)
        for signalled in self._on_end:
            signals += tuple(signalled(address, outcome.ended))
        return text, signals

    async def _store(self, delivery: OperationInput) -> Result:
        """Bring the document up to the log: of a thread that began as a copy, or that has other metadata now."""
        text, signals = await self._stored(delivery, await self._operations.store(delivery.address, delivery.text))
        return text, Done(None, signals)

    async def _reset(self, delivery: OperationInput) -> Result:
        position = _ordered(delivery.operation, "position", int)
        outcome = await self._operations.reset(delivery.address, delivery.text, position)
        text, signals = await self._stored(delivery, outcome)
        return text, Done(None, signals)

    async def _delete(self, delivery: OperationInput) -> Result:
        _ordered(delivery.operation, "logged", bool)
        is_deleted = await self._deletion.delete(delivery.address, delivery.text)
        return None if is_deleted else delivery.text, Done()

    async def _expire(self, delivery: OperationInput) -> Result:
        """Delete the thread if its time is up. One from before its agent had a time to live begins its time here."""
        text, now = delivery.text, self._clocks.wall()
        if self._ttl_seconds is None or text is None:
            return text, Done()
        try:
            conversation = self._documents.stored.read(delivery.address, text)
        except UnreadableDocumentError:
            return text, Done()
        if conversation.data.expiration_time_utc is None:
            return self._documents.written(delivery.address, begun(conversation, now, self._ttl_seconds)), Done()
        if not is_expired(conversation, now) or not await self._deletion.expire(delivery.address, text):
            return text, Done()
        logger.info("Thread %s of agent %s has expired and is deleted.", delivery.address.thread_id, self._agent)
        return None, Done()

    async def _trim(self, delivery: OperationInput) -> Result:
        if await self._deletion.forget(delivery.address, delivery.text):
            return None, Done()
        result: Result = delivery.text, Done()
        if delivery.text is None and (await self._log.head(delivery.address)).imported is not None:
            result = await self._store(delivery)  # its beginner died before its signal
        mark = self._mark(delivery.address, delivery.text)
        if mark is not None:
            await self._retention.trim(delivery.address, mark)
        await self._deletion.erase_older(delivery.address)
        await self._deletion.erase_unused(delivery.address, delivery.text)
        return result

    def _mark(self, address: Address, text: str | None) -> LogMark | None:
        try:
            return None if text is None else host_of(self._documents.stored.read(address, text)).log_mark
        except UnreadableDocumentError:
            return None


def _carried_principal(value: object, address: Address) -> Principal | None:
    """Return the owner that an orchestration calls for; the key of its thread's entity must agree."""
    if value is None:
        return None
    try:
        principal = Principal(**value) if isinstance(value, dict) else None
    except (TypeError, ValueError):
        principal = None
    if principal is None or principal.owner != address.owner:
        raise InvalidFieldError("The field 'principal' is not the owner of the thread. Send the thread's owner.")
    return principal


def _queued_seconds(order: dict[str, Any]) -> float:
    """Return for how long the operation before this one saw its run wait; nothing where it does not say so."""
    seconds = order.get("queued_seconds")
    if not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_QUEUED_SECONDS:
        return 0.0
    return float(seconds)


def _ordered(operation: Operation, name: str, kind: type[T]) -> T:
    """Return the member of that name of an operation's input; raises `InvalidFieldError` for any other input."""
    value = operation.value.get(name) if isinstance(operation.value, dict) else None
    if type(value) is not kind:
        raise InvalidFieldError(f"The operation {operation.name!r} takes an object with {name!r}.")
    return value
