"""The loop around the core: finds who has messages, calls processors, commits what they answer.

The store is the truth: what waits for a target is read when its turn comes. Memory has only hints: targets that may
have something, and when to look at them again. So other processes may send and forget while this one works, and waiting
messages cost no memory. A hint too many costs one read. Of what other processes send there is no hint: `queue_poll`
finds it.

Every target with a hint has one pump, a task that lives until there is nothing more to do. So work of one target is
done in order and one at a time, work of different targets side by side, up to the limits of host.json. A message leaves
the store only in the step that handled it: a process that dies delivers it again when it is started next. A step that
was decided on what another process changed meanwhile is not kept; the target is looked at again.

A processor gets the messages that wait for one target and answers with an outcome. It commits nothing: whatever it did
before it was killed is done again.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from devhost.durable.back_off import SECONDS, SUCCESSES, BackOff
from devhost.durable.clock import Alarm, Clock
from devhost.durable.events import Event
from devhost.durable.hidden import Hidden
from devhost.durable.inspection import log_step
from devhost.durable.ledger import Ledger
from devhost.durable.records import Body, Inbox, Message, Step, Target, TargetKind
from devhost.durable.unkind import Unkind
from devhost.errors import DurableError

logger = logging.getLogger(__name__)

_FIRST_RETRY_SECONDS = 3.0
_LONGEST_RETRY_SECONDS = 60.0
_UNWIND_SECONDS = 2.0  # for code that was cancelled when the grace was over
# A laptop that slept has its wall clock ahead of its loop's: look again at least this often.
_LONGEST_WAIT_SECONDS = 30.0
# Clocks are set right by fractions of a second all the time.
_NOTED_SECONDS = 1.0
# Entries that were set anew stay in the queue until there are so many more of them than targets.
_MOST_OLD_ENTRIES = 100

_Body = TypeVar("_Body", bound=Body)


@dataclass(frozen=True)
class Done:
    """The step to commit; `past` is the history that its events follow."""

    step: Step
    past: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Abandoned:
    """The app failed in a way that the protocol answers by delivering the same messages again, later."""

    reason: str


@dataclass(frozen=True)
class Held:
    """The app lacks the function; the messages stay until it is there again, after a restart."""

    reason: str


@dataclass(frozen=True)
class Waits:
    """Nothing of it can be done now; the messages stay until another one comes, or is due."""


@dataclass(frozen=True)
class Hides:
    """Whoever took the messages is gone; they stay, and nobody sees them for a while (`devhost.durable.unkind`)."""

    messages: tuple[Message, ...]
    seconds: float


Outcome = Done | Abandoned | Held | Waits | Hides


class Processor(Protocol):
    """Handles the messages of one kind of target."""

    most_messages: int
    """How many messages one call takes at most."""

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        """Call the app and return what is to be committed; messages that the step does not consume come again."""
        ...


def seqs(messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(message.seq for message in messages)


def bodies(messages: Sequence[Message], kind: type[_Body]) -> list[_Body]:
    """Return what those messages say that are of this kind, in order."""
    return [message.body for message in messages if isinstance(message.body, kind)]


class Worker:
    """Delivers messages to processors, at least once each."""

    def __init__(
        self,
        ledger: Ledger,
        processors: Mapping[TargetKind, Processor],
        limits: Mapping[TargetKind, int],
        clock: Clock,
        *,
        unkind: Unkind,
        hidden: Hidden,
    ) -> None:
        self._ledger = ledger
        self._processors = processors
        self._limits = {kind: asyncio.Semaphore(limit) for kind, limit in limits.items()}
        self._clock = clock
        self._unkind = unkind
        self._hidden = hidden
        self._back_off = BackOff(clock, unkind.lasts(SECONDS))
        self._timers = Timers(clock, self._wake)
        self._hinted: set[Target] = set()
        self._pumps: dict[Target, asyncio.Task[None]] = {}
        self._pauses: dict[Target, asyncio.Event] = {}
        self._busy: set[Target] = set()
        self._is_stopping = False

    def deliver(self, target: Target, due: datetime | None) -> None:
        """Look at the target as soon as its turn comes, or when its message is due."""
        if due is not None and due > self._clock.now():
            self._timers.add(target, due)
        else:
            self._wake(target)

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing new, give running work so long to end, and leave the rest to the next start.

        Code that does not heed its cancellation is not waited for: another process may wait to go on with the work.
        """
        self._is_stopping = True
        self._timers.stop()
        running = [self._pumps[target] for target in self._busy if target in self._pumps]
        if running:
            await asyncio.wait(running, timeout=grace_seconds)
        rest = list(self._pumps.values())
        for pump in rest:
            pump.cancel()
        if rest:
            _, stuck = await asyncio.wait(rest, timeout=_UNWIND_SECONDS)
            for pump in stuck:
                logger.error("A function ignored its cancellation and is abandoned. Its work is done again.")
                pump.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _wake(self, target: Target) -> None:
        self._hinted.add(target)
        if self._is_stopping:
            return
        if target not in self._pumps:
            self._pumps[target] = asyncio.get_running_loop().create_task(self._pump(target))
        elif target.kind is TargetKind.ORCHESTRATION and target in self._pauses:
            # It may be a termination, which must not wait until a failing orchestrator is tried again.
            self._pauses[target].set()

    async def _pump(self, target: Target) -> None:
        failures = 0
        try:
            while target in self._hinted and not self._is_stopping:
                async with self._limits[target.kind]:
                    await self._back_off.admit(target.kind)
                    outcome = None if self._is_stopping else await self._try_to_work(target)
                match outcome:
                    case Done():
                        failures = 0
                        self._back_off.succeeded(target.kind)
                    case Abandoned(reason):
                        self._hinted.add(target)
                        seconds = min(_FIRST_RETRY_SECONDS * 2**failures, _LONGEST_RETRY_SECONDS)
                        await self._pause(target, self._unkind.lasts(seconds), reason)
                        failures += 1
                    case Held(reason):
                        logger.error("Messages for %s wait: %s", target.id, reason)
                        return
        finally:
            del self._pumps[target]

    async def _try_to_work(self, target: Target) -> Outcome | None:
        """Work once; a fault of the engine itself is logged and tried again like the app's."""
        self._busy.add(target)
        try:
            return await self._work(target)
        except DurableError as error:
            return Abandoned(str(error))
        except Exception as error:
            logger.exception("The durable engine failed on %s", target.id)
            return Abandoned(type(error).__name__)
        finally:
            self._busy.discard(target)

    async def _work(self, target: Target) -> Outcome | None:
        """Handle what waits for the target and commit that; None when nothing waits."""
        self._hinted.discard(target)
        self._timers.set(target, None)
        processor = self._processors[target.kind]
        inbox = await self._inbox(target, processor.most_messages)
        if inbox.next_due is not None:
            # Added, not set: what was sent while this was read may be due earlier, or the only one.
            self._timers.add(target, inbox.next_due)
        if not inbox.messages:
            return None
        outcome = await processor.process(target, inbox)
        if isinstance(outcome, Hides):
            self._hide(target, inbox, outcome)
        if isinstance(outcome, Done):
            if not await self._ledger.commit(outcome.step, outcome.past):
                self._hinted.add(target)
                return await self._back_off_if_purged(outcome.step)
            log_step(target, inbox.messages, outcome.step)
            if outcome.step.silenced == target:
                self._timers.set(target, None)
            if not inbox.is_all or len(outcome.step.consumed) < len(inbox.messages):
                self._hinted.add(target)
        return outcome

    async def _inbox(self, target: Target, limit: int) -> Inbox:
        """Return what waits for the target and can be seen."""
        if not self._hidden:
            return await self._ledger.inbox(target, limit)
        inbox = await self._ledger.inbox(target, limit + len(self._hidden))
        return self._hidden.leave_out(inbox, self._clock.now(), limit)

    def _hide(self, target: Target, inbox: Inbox, outcome: Hides) -> None:
        until = self._clock.now() + timedelta(seconds=outcome.seconds)
        self._hidden.hide(seqs(outcome.messages), until)
        self._timers.add(target, until)
        if not inbox.is_all or len(outcome.messages) < len(inbox.messages):
            self._hinted.add(target)

    async def _back_off_if_purged(self, step: Step) -> Abandoned | None:
        """Do as the real host does where a step was refused because its record was purged meanwhile."""
        read = step.read
        if self._unkind.is_kind or read is None or read.etag is None:
            return None
        if (await self._ledger.inbox(read.target, 1)).record is not None:
            return None
        self._back_off.failed()
        logger.error(
            "TaskOrchestrationDispatcher: Unhandled exception with work item '%s': TableTransactionFailedException: "
            "The specified resource does not exist. Backing off for %d seconds until %d successful operations.",
            read.target.id,
            SECONDS,
            SUCCESSES,
        )
        return Abandoned("its record was purged while it ran")

    async def _pause(self, target: Target, seconds: float, reason: str) -> None:
        """Return after that time, or when an orchestration has a new message."""
        logger.error("%s failed and is tried again in %.0f s: %s", target.id, seconds, reason)
        over = self._pauses[target] = asyncio.Event()
        alarm = self._clock.call_later(seconds, over.set)
        try:
            await over.wait()
        finally:
            alarm.cancel()
            del self._pauses[target]


class Timers:
    """Calls `wake` with each target when its time has come, in the order of the times, never early."""

    def __init__(self, clock: Clock, wake: Callable[[Target], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._due: dict[Target, datetime] = {}
        self._queue: list[tuple[datetime, int, Target]] = []
        self._added = 0
        self._alarm: Alarm | None = None
        self._latest = clock.now()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, target: Target, due: datetime) -> None:
        """Wake the target then, or when it is due already, if that is earlier."""
        known = self._due.get(target)
        if known is None or due < known:
            self.set(target, due)

    def set(self, target: Target, due: datetime | None) -> None:
        """Wake the target then, and at no other time; with None not at all."""
        if due == self._due.get(target):
            return
        if due is None:
            del self._due[target]
            self._sweep()
            return
        self._due[target] = due
        self._added += 1
        heapq.heappush(self._queue, (due, self._added, target))
        if self._queue[0][2] == target:
            self._set_alarm()
        self._sweep()

    def stop(self) -> None:
        """Wake nobody any more."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _sweep(self) -> None:
        if len(self._queue) > 2 * len(self._due) + _MOST_OLD_ENTRIES:
            self._queue = [entry for entry in self._queue if self._due.get(entry[2]) == entry[0]]
            heapq.heapify(self._queue)

    def _set_alarm(self) -> None:
        self.stop()
        if self._queue:
            seconds = (self._queue[0][0] - self._now()).total_seconds()
            self._alarm = self._clock.call_later(min(seconds, _LONGEST_WAIT_SECONDS), self._ring)

    def _ring(self) -> None:
        now = self._now()
        while self._queue and self._queue[0][0] <= now:
            due, _, target = heapq.heappop(self._queue)
            if self._due.get(target) == due:
                del self._due[target]
                self._wake(target)
        self._set_alarm()

    def _now(self) -> datetime:
        now = self._clock.now()
        back = (self._latest - now).total_seconds()
        if back > _NOTED_SECONDS:
            logger.warning("The clock went back by at least %.0f s; timers wait until it shows their time.", back)
        self._latest = now
        return now
