"""Entities: one batch of operations of one entity, from the call of the app to the step.

The state is an opaque text that nobody here reads. Effects of a batch are kept as a whole: the new state, a reply to
each caller in the order of the operations, and the signals that the entity sent.

What an operation raises, the SDK answers for that operation. A cancellation or an exit passes it, and fails the call of
the whole batch: that would fail again, and hold up the entity for ever. So the operations are then called one by one,
and the one that raises it has failed. Any other failure of a call is the app's way to have the batch delivered again.

An orchestration may hold the lock of an entity. The lock is in the entity's record. While it is held, only what the
holder sends is done; the rest waits where it is, in its order. An orchestration that asks for several locks gets them
in an order that is the same for all: the request goes from one entity to the next, and the last one answers.
"""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from devhost.durable.answers import (
    EmittedSignal,
    EmittedStart,
    EntityAnswer,
    OperationResult,
    UnreadableAnswerError,
    timeout_text,
)
from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.events import EventRaised, ExecutionStarted
from devhost.durable.ledger import Ledger
from devhost.durable.records import (
    Body,
    Entity,
    EntityId,
    EventMessage,
    Inbox,
    Lock,
    LockRequest,
    Message,
    Operation,
    Outgoing,
    Read,
    Release,
    Step,
    Target,
    entity_target,
    orchestration_target,
)
from devhost.durable.texts import compact
from devhost.durable.unkind import Fault, Unkind
from devhost.durable.wire import Protocol, response_text
from devhost.durable.worker import Abandoned, Done, Held, Outcome, Waits, bodies, seqs
from devhost.ports import DurableFunctions, FunctionFailedError, FunctionNames, is_missing, missing_function

logger = logging.getLogger(__name__)

_MOST_SHOWN = 200
_ALL = 1_000_000_000
_SIGNAL_IDS = uuid.UUID("0d3c1c5e-4f0a-5f1a-8a3f-5b1d0c2f7e66")


class Entities:
    """Runs one batch of operations of one entity."""

    def __init__(
        self,
        functions: DurableFunctions,
        names: FunctionNames,
        ledger: Ledger,
        clock: Clock,
        batch_size: int,
        *,
        protocol: Protocol,
        unkind: Unkind,
    ) -> None:
        self._protocol = protocol
        self.most_messages = batch_size
        self._unkind = unkind
        self._functions = functions
        self._names = names
        self._ledger = ledger
        self._clock = clock

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        entity_id = EntityId.parse(target.id)
        entity = inbox.record if isinstance(inbox.record, Entity) else None
        messages = await self._next(target, inbox, entity)
        operations = bodies(messages, Operation)
        names, lacks_entity = (str(entity_id), entity_id.name), is_missing(self._names, "entity", entity_id.name)
        if not messages:
            return Waits()
        if not operations:
            return _change_lock(entity_id, entity, messages[0], self._clock.now())
        if self._unkind.strikes(Fault.LOST_OPERATION, *names) or (
            lacks_entity and self._unkind.strikes(Fault.MISSING_ENTITY, *names)
        ):
            return self._fail(entity_id, entity, messages)
        if lacks_entity:
            return Held(missing_function(self._names, "entity", entity_id.name))
        crash_points.reached("before-entity")
        batch = await self._call(entity_id, entity, operations)
        if isinstance(batch, Abandoned):
            return batch
        crash_points.reached("after-entity")
        for signal in batch.undeliverable:
            logger.error("%s: %s", entity_id, missing_function(self._names, "entity", signal.entity_name))
        step = Step(seqs(messages), entity=batch.entity, produced=batch.outgoing, read=Read.of(target, entity))
        return Done(step)

    async def _next(self, target: Target, inbox: Inbox, entity: Entity | None) -> Sequence[Message]:
        """Return what is done next: the first operations, or a single change of the lock."""
        lock, waiting = entity.lock if entity else None, inbox.messages
        if lock is not None and not inbox.is_all:  # what the holder sends may be behind all that was read
            waiting = (await self._ledger.inbox(target, _ALL)).messages
        allowed = [message for message in waiting if lock is None or _is_of_holder(message.body, lock)]
        operations = list(itertools.takewhile(lambda message: isinstance(message.body, Operation), allowed))
        return operations[: self.most_messages] or allowed[:1]

    def _fail(self, entity_id: EntityId, entity: Entity | None, messages: Sequence[Message]) -> Done:
        """Return the end of a batch that an instance without the entity took: nothing runs, callers get an error.

        The entity's record is written, as of any batch that ended.
        """
        operations, now = bodies(messages, Operation), self._clock.now()
        logger.warning(
            "The entity function '%s' is disabled or does not exist. Failing %d operation(s).",
            entity_id.name,
            len(operations),
        )
        failed = Failed(compact(missing_function(self._names, "entity", entity_id.name)))
        batch = apply_batch(entity_id, operations, failed, self._names, now)
        record = (
            replace(entity, updated_at=now) if entity else Entity(entity_id, exists=False, state=None, updated_at=now)
        )
        read = Read.of(entity_target(entity_id), entity)
        return Done(Step(seqs(messages), entity=record, produced=batch.outgoing, read=read))

    async def _call(
        self, entity_id: EntityId, entity: Entity | None, operations: Sequence[Operation]
    ) -> Batch | Abandoned:
        """Return what the operations change; each failure that the protocol does not answer is tried again later."""
        answer: EntityAnswer | Failed
        try:
            text = await self._functions.call(
                "entity", entity_id.name, self._protocol.write_batch(entity_id, entity, operations)
            )
            answer = self._protocol.read_results(text, len(operations))
        except FunctionFailedError as failure:
            too_long = timeout_text(failure.message)
            if failure.is_exit and len(operations) > 1:
                return await self._call_each(entity_id, entity, operations)
            if not failure.is_exit and too_long is None:
                return Abandoned(failure.message)
            # A time-out's text is no JSON on the real host either: the SDK knows it by its first words.
            answer = Failed(too_long or compact(failure.message))
        except UnreadableAnswerError as error:
            return Abandoned(str(error))
        else:
            _log_refused_signals(entity_id, operations, answer)
        batch = apply_batch(entity_id, operations, answer, self._names, self._clock.now())
        return replace(batch, entity=batch.entity and replace(batch.entity, lock=entity.lock if entity else None))

    async def _call_each(
        self, entity_id: EntityId, entity: Entity | None, operations: Sequence[Operation]
    ) -> Batch | Abandoned:
        """Return what the operations change, each called with the state that the last one left."""
        changed: Entity | None = None
        batches: list[Batch] = []
        for operation in operations:
            batch = await self._call(entity_id, changed or entity, (operation,))
            if isinstance(batch, Abandoned):
                return batch
            changed = batch.entity or changed
            batches.append(batch)
        return Batch(
            changed,
            tuple(outgoing for batch in batches for outgoing in batch.outgoing),
            tuple(signal for batch in batches for signal in batch.undeliverable),
        )


def _is_of_holder(body: Body, lock: Lock) -> bool:
    if isinstance(body, Release):
        return body.section_id == lock.section_id
    return isinstance(body, Operation | LockRequest) and body.caller_id == lock.holder_id


def _change_lock(entity_id: EntityId, entity: Entity | None, message: Message, now: datetime) -> Done:
    """Return the step that locks the entity or frees it; a free one stays free, without a new record."""
    step, body = Step((message.seq,), read=Read.of(entity_target(entity_id), entity)), message.body
    record = entity or Entity(entity_id, exists=False, state=None, updated_at=now)
    if isinstance(body, LockRequest):
        locked = replace(record, lock=Lock(body.caller_id, body.id))
        return Done(replace(step, entity=locked, produced=(_pass_on(body, now),)))
    return Done(replace(step, entity=replace(record, lock=None) if record.lock else None))


def _pass_on(request: LockRequest, now: datetime) -> Outgoing:
    """Return the request for the next lock, or the answer once there is none."""
    following = request.position + 1
    if following < len(request.entity_ids):
        target = entity_target(EntityId.parse(request.entity_ids[following]))
        return Outgoing(target, replace(request, position=following))
    text = response_text(OperationResult("Lock Acquisition Completed", is_error=False))
    granted = EventRaised(timestamp=now, name=request.id, input=text)
    return Outgoing(orchestration_target(request.caller_id), EventMessage(granted, request.caller_execution_id))


def _log_refused_signals(entity_id: EntityId, operations: Sequence[Operation], answer: EntityAnswer) -> None:
    """Log the failures that nobody waits for: the SDK makes them results, and a signal has no reply to carry one."""
    for operation, result in zip(operations, answer.results, strict=True):
        if result.is_error and operation.is_signal:
            shown = (result.result or "")[:_MOST_SHOWN]
            logger.error("%s: the signal '%s' failed, and no caller sees it: %s", entity_id, operation.name, shown)


@dataclass(frozen=True)
class Failed:
    """The batch ran past `functionTimeout`, or its one operation raised an exit; nothing of it is stored."""

    result: str


@dataclass(frozen=True)
class Batch:
    """What a batch changes: the entity (None when nothing is stored), and messages out.

    `undeliverable` are signals to entities that the app does not have.
    """

    entity: Entity | None
    outgoing: tuple[Outgoing, ...]
    undeliverable: tuple[EmittedSignal, ...] = ()


def apply_batch(
    entity_id: EntityId,
    operations: Sequence[Operation],
    answer: EntityAnswer | Failed,
    names: FunctionNames,
    now: datetime,
) -> Batch:
    """Return what the answer to these operations changes; a batch that failed is an error to every caller."""
    if isinstance(answer, Failed):
        failure = OperationResult(answer.result, is_error=True)
        return Batch(
            None, tuple(_reply(operation, failure, now) for operation in operations if not operation.is_signal)
        )
    pairs = zip(operations, answer.results, strict=True)
    replies = [_reply(operation, result, now) for operation, result in pairs if not operation.is_signal]
    known = [signal for signal in answer.signals if not is_missing(names, "entity", signal.entity_name)]
    signals = [_signal(operations[0].id, number, signal) for number, signal in enumerate(known)]
    starts = [_start(operations[0].id, number, start, now) for number, start in enumerate(answer.starts)]
    return Batch(
        entity=Entity(entity_id, answer.exists, answer.state, now),
        outgoing=(*replies, *signals, *starts),
        undeliverable=tuple(signal for signal in answer.signals if signal not in known),
    )


def _reply(operation: Operation, result: OperationResult, now: datetime) -> Outgoing:
    event = EventRaised(timestamp=now, name=operation.id, input=response_text(result))
    message = EventMessage(event, operation.caller_execution_id)
    return Outgoing(orchestration_target(operation.caller_id or ""), message)


def _signal(batch_id: str, number: int, signal: EmittedSignal) -> Outgoing:
    # Named after the batch's first operation: a batch that is run again sends the same ids.
    signal_id = str(uuid.uuid5(_SIGNAL_IDS, f"{batch_id}:{number}"))
    target = entity_target(EntityId.of(signal.entity_name, signal.entity_key))
    return Outgoing(target, Operation(signal_id, signal.operation, signal.input), signal.due)


def _start(batch_id: str, number: int, start: EmittedStart, now: datetime) -> Outgoing:
    """Return the start; an id that a live instance has is taken, and the start is dropped."""
    execution_id = uuid.uuid5(_SIGNAL_IDS, f"{batch_id}:start:{number}").hex
    event = ExecutionStarted(
        timestamp=now,
        instance_id=start.instance_id,
        execution_id=execution_id,
        name=start.name,
        input=start.input,
        generation=0,
        version=start.version,
        scheduled_start=start.due,
    )
    return Outgoing(orchestration_target(start.instance_id), EventMessage(event, execution_id), start.due)
