"""The entity: the one writer of a thread. It has each run brought to its end and stores what the run's log says.

Theory. An operation may be delivered again after any crash, so each step first looks for its own record: a terminal
record in the log means that the agent has run, a run id in the document's ledger means that the conversation has it.
The handler never raises on what a caller sent; it raises only to be delivered again: when the log cannot be reached
before the agent started, when the archive cannot while a thread is to be forgotten, and when a newer attempt holds the
run. Source: turn.md, Records 1, 5 and 6.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from hosting.calling.called_answer import answer_text
from hosting.entity.applying import request_of, with_run
from hosting.entity.archiving import Document, document_of
from hosting.entity.attaching import Attaching
from hosting.entity.entity_batch import Batch, Done, Operation, Refused, Signal, parse_batch, write_answer
from hosting.entity.erasing import Doomed, Erasing
from hosting.entity.expiry import after_turn, begun, is_expired
from hosting.entity.forgetting import order_id, reset
from hosting.entity.keeping import Keeping
from hosting.entity.pausing import Pauses
from hosting.entity.thread_cache import ThreadCache
from hosting.errors import (
    ArchiveUnavailableError,
    AttachmentsUnavailableError,
    HostingError,
    InvalidFieldError,
    LogUnavailableError,
    UnreadableStateError,
    UnstorableAnswerError,
)
from hosting.events import Accepted, Place
from hosting.identity import check_thread_id, is_id, new_id
from hosting.ports import ArchiveStore, Clock
from hosting.process.telemetry import carried_traceparent
from hosting.request.limits import Limits
from hosting.request.run_call import fingerprint
from hosting.request.run_request import carried_request
from hosting.run.turn import Turns
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.thread.endings import unanswered
from state.conversation import applied, generation
from state.errors import UnreadableStateError as UnreadableDocumentError
from state.models import Conversation, RequestEntry, entry_text

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Thread:
    """One conversation during a batch: the stored text, and what it reads as or why it cannot be read."""

    key: str
    text: str | None
    conversation: Conversation | UnreadableDocumentError

    def with_document(self, document: Document) -> Thread:
        """Return the thread as this document has it."""
        return Thread(self.key, document.text, document.conversation)


class AgentEntity:
    """The operations of the entity `dafx-<agent>`."""

    def __init__(
        self,
        agent: str,
        turns: Turns,
        log: RunLog,
        clock: Clock,
        *,
        keeping: Keeping,
        archive: ArchiveStore,
        attaching: Attaching,
        limits: Limits,
        ttl_seconds: float | None = None,
        notice: Callable[[str], Signal] | None = None,
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`turn` is entered for each batch, and may raise to have it delivered again; without `ttl_seconds`
        conversations have no end. `notice` makes of a run's id the signal that has its end told."""
        self._agent = agent
        self._limits = limits
        self._ttl_seconds = ttl_seconds
        self._notice = notice
        self._turn = turn
        self._turns = turns
        self._log = log
        self._clock = clock
        self._keeping = keeping
        self._archive = archive
        self._attaching = attaching
        self._erasing = Erasing(log, archive, attaching, clock)
        self._threads = ThreadCache()
        self._pauses = Pauses(log, clock)
        self._operations: dict[str, Callable[[Thread, Operation], Awaitable[tuple[Thread, Done | Refused]]]] = {
            "run": self._run,
            "reset": self._reset,
            "delete": self._delete,
            "expire": self._expire,
        }

    async def handle(self, payload: str) -> str:
        """Answer one batch of the host (host contract 3.15). Raises only to have the batch delivered again."""
        started_at = self._clock()
        return write_answer(*await self.answer(parse_batch(payload)), started_at)

    async def answer(self, batch: Batch) -> tuple[str | None, list[Done | Refused]]:
        """Return the state as it is to be stored, and a result per operation in order; raises as `handle` does."""
        with self._turn():
            thread = self._open(batch.key, batch.state)
            results: list[Done | Refused] = []
            for operation in batch.operations:
                thread, result = await self._operate(thread, operation)
                results.append(result)
            return thread.text, results

    def _open(self, key: str, text: str | None) -> Thread:
        try:
            return Thread(key, text, self._threads.read(key, text))
        except UnreadableDocumentError as error:
            logger.error("The thread %s of agent %s cannot be read: %s", key, self._agent, error)
            return Thread(key, text, error)

    async def _operate(self, thread: Thread, operation: Operation) -> tuple[Thread, Done | Refused]:
        handler = self._operations.get(operation.name.lower())
        if handler is None:
            known = ", ".join(self._operations)
            return thread, Refused(f"The operation {operation.name[:80]!r} is not known. Known: {known}.")
        try:
            return await handler(thread, operation)
        except HostingError as error:
            if isinstance(error, LogUnavailableError | ArchiveUnavailableError | AttachmentsUnavailableError):
                raise
            return thread, Refused(error.detail)

    async def _run(self, thread: Thread, operation: Operation) -> tuple[Thread, Done | Refused]:
        record = await self._ordered(thread, operation)
        if record is None:
            logger.info(
                "A signal to thread %s of agent %s has no run log; its thread was deleted.", thread.key, self._agent
            )
            return thread, Done()
        if isinstance(thread.conversation, UnreadableDocumentError):
            error = UnreadableStateError.because(thread.conversation)
            record = await self._turns.end(record, unanswered(record.run_id, self._clock(), error))
            return thread, self._ended(operation, record)
        if applied(thread.conversation, record.run_id):
            repaired = await self._turns.repair(record, thread.conversation)
            return thread, _result(operation, repaired) if repaired is record else self._ended(operation, repaired)
        conversation = await self._pauses.caught_up(record, thread.conversation)
        place = Place.of(self._agent, thread.key)
        request = await self._attaching.light(place, request_of(record.accepted, conversation))
        document = Document(thread.text or "", conversation)
        admitted = await self._admitted(place, document, record, request)
        if isinstance(admitted, HostingError):
            record = await self._turns.end(record, unanswered(record.run_id, self._clock(), admitted))
        else:
            document = admitted
            record = await self._turns.finish(record, await self._attaching.whole(place, document.conversation))
        grown = with_run(document.conversation, record, request)
        if grown is not None:
            grown = after_turn(grown, record.terminal, self._ttl_seconds)
            light = await self._attaching.with_light_turn(place, grown)
            thread = self._stored(thread, await self._keeping.keep(place, light))
        return thread, self._ended(operation, record)

    def _ended(self, operation: Operation, record: RunRecord) -> Done:
        """Return the result of an operation that ended a run, which is to be told where somebody listens."""
        done = _result(operation, record)
        return done if self._notice is None else replace(done, signals=(self._notice(record.run_id),))

    async def _admitted(
        self, place: Place, document: Document, record: RunRecord, request: RequestEntry
    ) -> Document | HostingError:
        """Return the document with room for the run, or why the run fails without its agent: it may not start now, or
        has no room."""
        if record.terminal is not None:
            return document
        refusal = await self._pauses.refusal(record, document.conversation)
        return refusal or await self._keeping.admit(place, document, request.once(entry_text))

    async def _ordered(self, thread: Thread, operation: Operation) -> RunRecord | None:
        """Return the run that an operation asks for: one with a log, or a carried request, whose log is opened here."""
        order = operation.value
        if not isinstance(order, dict):
            raise UnstorableAnswerError("The operation 'run' takes an object with 'run_id', or with 'message'.")
        run_id = order.get("run_id") or order.get("correlationId") or new_id()
        if not isinstance(run_id, str) or not is_id(run_id):
            raise UnstorableAnswerError(f"The run id {str(run_id)[:80]!r} is not valid.")
        if order.get("logged"):
            return self._log.known(run_id) or await self._log.read(run_id)
        check_thread_id(thread.key, self._agent)
        request = await asyncio.to_thread(carried_request, order, self._limits)  # a large one takes its time
        accepted = Accepted(
            at=self._clock(),
            run_id=run_id,
            agent=self._agent,
            thread_id=thread.key,
            fingerprint=fingerprint(self._agent, thread.key, request),
            request=request,
            traceparent=carried_traceparent(None),
        )
        record = (await self._log.open(accepted)).record
        if record.accepted.fingerprint != accepted.fingerprint:
            raise InvalidFieldError(f"The run id {run_id!r} is another request's. Send an id of its own.")
        return record

    def _stored(self, thread: Thread, document: Document) -> Thread:
        self._threads.keep(thread.key, document.text, document.conversation)
        return thread.with_document(document)

    async def _reset(self, thread: Thread, operation: Operation) -> tuple[Thread, Done | Refused]:
        if isinstance(thread.conversation, UnreadableDocumentError):
            raise UnreadableStateError.because(thread.conversation)
        emptied = reset(thread.conversation, operation.value)
        if emptied is None:
            return thread, Done()
        place = Place.of(self._agent, thread.key)
        await self._archive.erase(place, before=generation(emptied.conversation))
        await self._attaching.erase(place)
        return thread.with_document(emptied), Done()

    async def _delete(self, thread: Thread, operation: Operation) -> tuple[Thread, Done | Refused]:
        if not await self._erasing.delete(self._doomed(thread), order_id(operation.value, "delete")):
            return thread, Done()
        return self._emptied(thread), Done()

    async def _expire(self, thread: Thread, operation: Operation) -> tuple[Thread, Done | Refused]:
        """Delete the thread if its time is up. One from before its agent had a time to live begins its time here."""
        conversation, now = thread.conversation, self._clock()
        if self._ttl_seconds is None or thread.text is None or isinstance(conversation, UnreadableDocumentError):
            return thread, Done()
        if conversation.data.expiration_time_utc is None:
            return self._stored(thread, document_of(begun(conversation, now, self._ttl_seconds))), Done()
        if not is_expired(conversation, now):
            return thread, Done()
        if not await self._erasing.expire(self._doomed(thread), order_id(operation.value, "expire")):
            return thread, Done()
        logger.info("The time of thread %s of agent %s was up; it is deleted.", thread.key, self._agent)
        return self._emptied(thread), Done()

    def _doomed(self, thread: Thread) -> Doomed:
        readable = thread.conversation if isinstance(thread.conversation, Conversation) else None
        return Doomed(Place.of(self._agent, thread.key), thread.text or "", readable)

    def _emptied(self, thread: Thread) -> Thread:
        self._threads.forget(thread.key)
        return self._open(thread.key, None)


def _result(operation: Operation, record: RunRecord) -> Done:
    """Return little for a signal, whose result nobody reads, and the whole answer for a call."""
    terminal = record.terminal
    return Done(record.run_id if operation.is_signal or terminal is None else answer_text(record, terminal))
