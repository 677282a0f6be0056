"""One batch of one entity: state, operations and the app's answer in; state, replies and signals out.

The state is an opaque text that nobody here reads. Effects of a batch are kept as a whole: the new state, a reply to
each caller in the order of the operations, and the signals that the entity sent (host contract 3.15).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from devhost.durable.answers import EmittedSignal, EntityAnswer, OperationResult
from devhost.durable.entity_messages import response_text
from devhost.durable.events import EventRaised
from devhost.durable.missing import FunctionNames, is_missing
from devhost.durable.records import (
    Entity,
    EntityId,
    EventMessage,
    Operation,
    Outgoing,
    entity_target,
    orchestration_target,
)

_SIGNAL_IDS = uuid.UUID("0d3c1c5e-4f0a-5f1a-8a3f-5b1d0c2f7e66")


@dataclass(frozen=True)
class TimedOut:
    """The batch ran past `functionTimeout`; nothing of it is stored."""

    message: str


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
    answer: EntityAnswer | TimedOut,
    names: FunctionNames,
    now: datetime,
) -> Batch:
    """Return what the answer to these operations changes; a batch that timed out is an error to every caller."""
    if isinstance(answer, TimedOut):
        # The text is no JSON on the real host either: the SDK knows it by its first words.
        failure = OperationResult(answer.message, is_error=True)
        return Batch(
            None, tuple(_reply(operation, failure, now) for operation in operations if not operation.is_signal)
        )
    pairs = zip(operations, answer.results, strict=True)
    replies = [_reply(operation, result, now) for operation, result in pairs if not operation.is_signal]
    known = [signal for signal in answer.signals if not is_missing(names, "entity", signal.entity_name)]
    signals = [_signal(operations[0].id, number, signal) for number, signal in enumerate(known)]
    return Batch(
        entity=Entity(entity_id, answer.exists, answer.state, now),
        outgoing=(*replies, *signals),
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
    return Outgoing(target, Operation(signal_id, signal.operation, signal.input))
