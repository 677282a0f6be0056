"""A processor around a processor: what may happen to one piece of work between its messages and its commit.

It stands in the engine only where faults were asked for (`devhost.durable.unkind`), and does what is not yet done to
the messages, the call and the outcome of the one inside. What is sent here is sent for good, whatever is committed.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.events import ExecutionStarted
from devhost.durable.hidden import Hidden
from devhost.durable.ledger import Ledger
from devhost.durable.records import (
    ActivityTask,
    EntityId,
    EventMessage,
    Inbox,
    LockRequest,
    Message,
    Operation,
    Orchestration,
    Outgoing,
    Step,
    Target,
    TargetKind,
)
from devhost.durable.unkind import Fault, Unkind
from devhost.durable.worker import Done, Hides, Outcome, Processor, bodies, seqs

_DIED_BEFORE = {TargetKind.ACTIVITY: Fault.DIED_BEFORE_ACTIVITY}
_DIED_AFTER = {TargetKind.ACTIVITY: Fault.DIED_AFTER_ACTIVITY, TargetKind.ENTITY: Fault.DIED_AFTER_ENTITY}
_LONGEST_LATE_SECONDS = 1.0


class UnkindProcessor:
    """Handles messages as `inner` does, unless a fault strikes."""

    def __init__(
        self,
        inner: Processor,
        ledger: Ledger,
        clock: Clock,
        *,
        unkind: Unkind,
        hidden: Hidden,
        visibility_seconds: float,
    ) -> None:
        """What a host had taken when it died is seen again after `visibility_seconds`."""
        self.most_messages = inner.most_messages
        self._inner = inner
        self._ledger = ledger
        self._clock = clock
        self._unkind = unkind
        self._hidden = hidden
        self._visibility_seconds = unkind.lasts(visibility_seconds)

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        names = names_of(target, inbox)
        late = [message for message in inbox.messages if not is_sorted(message)]
        if late and self._unkind.strikes(Fault.DELIVERED_LATE, *names):
            message = late[self._unkind.choose(len(late))]
            return Hides((message,), self._unkind.lasts(self._unkind.up_to(_LONGEST_LATE_SECONDS)))
        if self._unkind.strikes(Fault.HIDDEN_AFTER_DEATH, *names):
            until = self._clock.now() + timedelta(seconds=self._visibility_seconds)
            self._hidden.take(seqs(inbox.messages), until)
        died_before, died_after = _DIED_BEFORE.get(target.kind), _DIED_AFTER.get(target.kind)
        if died_before is not None and self._unkind.strikes(died_before, *names):
            return Hides(inbox.messages, self._visibility_seconds)
        if target.kind is not TargetKind.ACTIVITY and self._unkind.strikes(Fault.MOVED_PARTITION, *names):
            outcome = await self._process_twice(target, inbox)
        else:
            outcome = await self._inner.process(target, inbox)
        if not isinstance(outcome, Done):
            return outcome
        step = outcome.step
        if died_after is not None and self._unkind.strikes(died_after, *names):
            await self._send(step)
            return Hides(inbox.messages, self._visibility_seconds)
        if self._sends_an_episode(step) and self._unkind.strikes(Fault.SENT_NOT_COMMITTED, *names):
            await self._send(step)
            crash_points.reached("after-sending")
            return Hides(inbox.messages, self._visibility_seconds)
        if self._unkind.strikes(Fault.DELIVERED_TWICE, *names):
            again = self._again([message for message in inbox.messages if message.seq in step.consumed])
            return replace(outcome, step=replace(step, produced=(*step.produced, *again)))
        return outcome

    async def _process_twice(self, target: Target, inbox: Inbox) -> Outcome:
        """Return what the second of two workers makes of the messages; the first one's messages are sent as well.

        Both have the partition for a while, and the record of the first is refused.
        """
        first, second = await asyncio.gather(self._inner.process(target, inbox), self._inner.process(target, inbox))
        if isinstance(first, Done):
            await self._send(first.step)
        return second

    async def _send(self, step: Step) -> None:
        if step.orchestration is not None or step.entity is not None:  # an activity's result is its only outcome
            await self._ledger.commit(Step(produced=step.produced))

    def _sends_an_episode(self, step: Step) -> bool:
        return step.orchestration is not None and bool(step.produced)

    def _again(self, messages: Sequence[Message]) -> list[Outgoing]:
        """Return what comes a second time, a little later: its taker died before it was deleted."""
        due = self._clock.now() + timedelta(seconds=self._unkind.lasts(self._unkind.up_to(_LONGEST_LATE_SECONDS)))
        return [Outgoing(message.target, message.body, due) for message in messages if not is_sorted(message)]


def names_of(target: Target, inbox: Inbox) -> tuple[str, ...]:
    """Return the names by which faults are armed for the target, its own first."""
    if target.kind is TargetKind.ACTIVITY:
        return tuple(name for task in bodies(inbox.messages, ActivityTask)[:1] for name in (task.name, task.caller_id))
    if target.kind is TargetKind.ENTITY:
        return target.id, EntityId.parse(target.id).name
    starts = [message.event for message in bodies(inbox.messages, EventMessage)]
    names = [event.name for event in starts if isinstance(event, ExecutionStarted)]
    record = [inbox.record.name] if isinstance(inbox.record, Orchestration) else []
    return target.id, *(record or names)[:1]


def is_sorted(message: Message) -> bool:
    """Return whether the real host's sorter drops a second copy of the message and keeps its place.

    It does so for operations that orchestrations and entities send; those have derived ids here, clients' have not.
    """
    body = message.body
    if isinstance(body, LockRequest):
        return True
    return isinstance(body, Operation) and uuid.UUID(body.id).version != 4
