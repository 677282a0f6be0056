"""Entities: one batch of operations of one entity, from the call of the app to the step.

The state is an opaque text that nobody here reads. Effects of a batch are kept as a whole: the new state, a reply to
each caller in the order of the operations, and the signals that the entity sent.

What an operation raises, the SDK answers for that operation. A cancellation or an exit passes it, and fails the call of
the whole batch: that would fail again, and hold up the entity for ever. So the operations are then called one by one,
and the one that raises it has failed. Any other failure of a call is the app's way to have the batch delivered again.
"""

from __future__ import annotations

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
from devhost.durable.records import (
    Entity,
    EntityId,
    EventMessage,
    Inbox,
    Operation,
    Outgoing,
    Read,
    Step,
    Target,
    entity_target,
    orchestration_target,
)
from devhost.durable.texts import compact
from devhost.durable.unkind import Fault, Unkind
from devhost.durable.wire import Protocol, response_text
from devhost.durable.worker import Abandoned, Done, Held, Outcome, bodies, seqs
from devhost.ports import DurableFunctions, FunctionFailedError, FunctionNames, is_missing, missing_function

logger = logging.getLogger(__name__)

_MOST_SHOWN = 200
_SIGNAL_IDS = uuid.UUID("0d3c1c5e-4f0a-5f1a-8a3f-5b1d0c2f7e66")


class Entities:
    """Runs one batch of operations of one entity."""

    def __init__(
        self,
        functions: DurableFunctions,
        names: FunctionNames,
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
        self._clock = clock

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        entity_id = EntityId.parse(target.id)
        operations = bodies(inbox.messages, Operation)
        entity = inbox.record if isinstance(inbox.record, Entity) else None
        names, lacks_entity = (str(entity_id), entity_id.name), is_missing(self._names, "entity", entity_id.name)
        if self._unkind.strikes(Fault.LOST_OPERATION, *names) or (
            lacks_entity and self._unkind.strikes(Fault.MISSING_ENTITY, *names)
        ):
            return self._fail(entity_id, entity, inbox)
        if lacks_entity:
            return Held(missing_function(self._names, "entity", entity_id.name))
        crash_points.reached("before-entity")
        batch = await self._call(entity_id, entity, operations)
        if isinstance(batch, Abandoned):
            return batch
        crash_points.reached("after-entity")
        for signal in batch.undeliverable:
            logger.error("%s: %s", entity_id, missing_function(self._names, "entity", signal.entity_name))
        step = Step(seqs(inbox.messages), entity=batch.entity, produced=batch.outgoing, read=Read.of(target, entity))
        return Done(step)

    def _fail(self, entity_id: EntityId, entity: Entity | None, inbox: Inbox) -> Done:
        """Return the end of a batch that an instance without the entity took: nothing runs, callers get an error.

        The entity's record is written, as of any batch that ended.
        """
        operations, now = bodies(inbox.messages, Operation), self._clock.now()
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
        return Done(Step(seqs(inbox.messages), entity=record, produced=batch.outgoing, read=read))

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
        return apply_batch(entity_id, operations, answer, self._names, self._clock.now())

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
