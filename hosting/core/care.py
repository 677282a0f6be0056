"""The loop behind every wait: it watches a run or a thread, claims the run if it may, and ends it if it is lost.

Theory. A watcher gets at once what this process appends. What others append is read from the log: as soon as the store
says so, or, where the store cannot push, after pauses that grow. A run without a holder in its turn is claimed here. A
run that was queued for too long, or has lost its holder, is ended here. When the process drains, a watcher of a run
that is held elsewhere is let go at once. Waits and streams watch one run, through a `RunView`, and an entity's
operation its thread.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import nullcontext

from msgspec import Struct

from hosting.core.agent.held_run import LEASE_MARGIN_SECONDS, LEASE_SECONDS
from hosting.core.broadcast import Broadcast, DeltaText, Follower, LoggedEvent, News, UnderWay
from hosting.core.held_runs import HeldRuns
from hosting.core.stores.contract import MOST_POSITION
from hosting.core.thread.commands import CancelRun, ExpireRun
from hosting.core.thread.events import Claimed, Event
from hosting.core.thread.head import Head
from hosting.core.thread.run import Gone, Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError, ThreadDeletedError
from hosting.names import Address
from hosting.ports import Clock, EntityClient

logger = logging.getLogger(__name__)


class Pace(Struct, frozen=True):
    """The pauses (s) between two reads of a store that cannot push: the first one, their growth, and the longest."""

    first: float = 0.025
    growth: float = 1.25
    longest: float = 1.0

    def after(self, pause_seconds: float) -> float:
        """Return the pause that follows a pause of so long."""
        return min(self.growth * pause_seconds, self.longest)


PACE = Pace()


class RunView:
    """One run as its watcher knows it, with the log through `position`; `has_gap`: what comes next is to be read."""

    def __init__(self, run: Run, position: int) -> None:
        self.run = run
        self.position = position
        self.has_gap = False

    @property
    def is_over(self) -> bool:
        """Whether its watcher waits for nothing more; raises `ThreadDeletedError` for a run that has no end."""
        if isinstance(self.run.state, Gone):
            raise ThreadDeletedError(f"Run {self.run.run_id!r} was deleted with its thread.")
        return self.run.end is not None

    def take(self, news: Sequence[News]) -> Sequence[News]:
        """Apply the news, up to a gap; return those that are new to the watcher."""
        run = self.run
        for update in news:
            if isinstance(update, LoggedEvent) and update.position == self.position + 1:
                self.run, self.position = self.run.after(update.position, update.event), update.position
            elif isinstance(update, LoggedEvent) and update.position > self.position:
                self.has_gap = True
        return news if self.run is not run else ()


class Patience:
    """How long a run was seen to wait for its first claim, and the holder of its thread to append nothing.

    The times in a head are of other machines' clocks, which may be an hour off. So both are differences of two times of
    one's own clock. `queued_seconds` is what others have seen of the run's waiting before, and `queue_seconds` how long
    it may wait in all.
    """

    def __init__(self, clock: Clock, run_id: str, queue_seconds: float, queued_seconds: float = 0.0) -> None:
        self.clock = clock
        self.run_id = run_id
        self.queue_seconds = queue_seconds
        self.queued_seconds = queued_seconds
        self._began_at = self.clock() - self.queued_seconds
        self._due_at = self.clock() + LEASE_SECONDS
        self._holder: tuple[str, int] | None = None
        self._idle_since = 0.0

    def is_due(self) -> bool:
        """Return whether the run's only watcher is to read its thread's head again: that is once in a lease."""
        is_due = self.clock() >= self._due_at
        self._due_at = self.clock() + LEASE_SECONDS if is_due else self._due_at
        return is_due

    def is_overdue(self, head: Head) -> bool:
        """Return whether the run, which was never claimed, waits for longer than it may."""
        run = head.run(self.run_id)
        is_waiting = run is not None and run.attempts == 0 and run.cancelled is None
        if head.is_paused:  # nothing before it ends meanwhile
            self._began_at = self.clock() - self.queued_seconds
        self.queued_seconds = self.clock() - self._began_at if is_waiting else 0.0
        return self.queued_seconds >= self.queue_seconds

    def idle_append(self, head: Head, least_seconds: float) -> str | None:
        """Return the head's append if the holder has appended nothing for at least so long, else None."""
        holder = None if head.claim is None else (head.claim.token, head.claim.renewals)
        if holder is None or holder != self._holder:
            self._holder, self._idle_since = holder, self.clock()
        return head.append_id if holder and self.clock() - self._idle_since >= least_seconds else None

    def end(self, head: Head, claim: Claimed | None, moment: float) -> CancelRun | ExpireRun | None:
        """Return the command of that time that ends the run, if it is overdue, or its holder idle for all its time.

        `claim` is the run's newest, as far as its watcher knows.
        """
        if self.is_overdue(head):
            return CancelRun(moment, self.run_id, "queue_time")
        if claim is None or not head.is_held_by(claim.token):
            return None
        longest = max(claim.deadline - claim.at, claim.lease_seconds + LEASE_MARGIN_SECONDS)
        idle_append = self.idle_append(head, longest)
        return None if idle_append is None else ExpireRun(moment, self.run_id, idle_append)


class Care:
    """Watches runs and threads for one event loop; a run may be queued for `queue_seconds`.

    `broadcast` has the followers of this process.
    """

    def __init__(
        self,
        log: ThreadLog,
        broadcast: Broadcast,
        holders: HeldRuns,
        *,
        queue_seconds: float = math.inf,
        pace: Pace = PACE,
    ) -> None:
        self._log = log
        self.broadcast = broadcast
        self._holders = holders
        self._queue_seconds = queue_seconds
        self._pace = pace

    def patience(self, run_id: str, queued_seconds: float = 0.0) -> Patience:
        """Return the patience with a run that was seen to wait for so long."""
        return Patience(self._log.clocks.awake, run_id, self._queue_seconds, queued_seconds)

    async def watch(
        self,
        run: Run,
        view: RunView,
        client: EntityClient,
        *,
        takes: bool = True,
        seconds: float = math.inf,
        outage_seconds: float = math.inf,
    ) -> AsyncGenerator[Sequence[News], None]:
        """Yield what the view takes of the run's news, nothing where a while brought none, until the view is over.

        Ends before that after so many seconds, and when this process drains and does not hold the run. A run is claimed
        here for a watcher that `takes` it, if it has no holder in its turn. Raises `ThreadDeletedError` if its events
        are gone, and `LogUnavailableError` when the log is away for `outage_seconds` or cannot be read at first.
        """
        address, held, clock = run.address, self._holders.held, asyncio.get_running_loop().time
        end, pause, read_at, patience = clock() + seconds, self._pace.first, -math.inf, None
        watched = self._holders.watched(address, run.run_id, client) if takes else nullcontext()
        with watched, self.broadcast.subscribe(address) as follower:
            news, must_read = list[News](), run.run_id not in held or view.position < run.last
            while True:
                yield (new := view.take(news))
                left, pause = end - clock(), self._pace.first if new else pause
                must_read |= view.has_gap
                if view.is_over or (left <= 0 and not must_read):
                    return
                try:
                    if must_read:
                        news, read_at, must_read = await self._read(run, view, follower), clock(), False
                        continue
                    if run.run_id in held:
                        await follower.wait(min(left, self._pace.longest))
                    elif self._holders.draining.is_set():
                        return
                    else:
                        patience = patience or self.patience(run.run_id)
                        await self._provide(view.run, client if takes else None, patience)
                        wait, pause = min(left, pause), self._pace.after(pause)
                        await follower.wait_beside(self._log.watch(address, view.position, wait), wait)
                    news, read_at = follower.drain(), clock()
                    must_read = follower.has_missed or not (news or run.run_id in held)
                except LogUnavailableError:
                    if clock() - read_at > outage_seconds:
                        raise
                    logger.warning("The log cannot be reached to watch run %s.", run.run_id)
                    if left <= 0 or (self._holders.draining.is_set() and run.run_id not in held):
                        return
                    await follower.wait(min(left, pause))
                    news, must_read, pause = [], True, self._pace.after(pause)

    async def heads(
        self,
        address: Address,
        head: Head,
        kinds: tuple[type[Event], ...],
        *,
        pace: Pace = PACE,
        left: Callable[[], float] = lambda: math.inf,
    ) -> AsyncGenerator[Head, None]:
        """Yield this head of the thread, and then the head as it stands, each time that it may be another.

        That is at once when this process has appended an event of these kinds, and `pace.first` after the head before
        it at the earliest when others have appended anything. There is no pause once this process drains or `left`
        returns no more seconds: the caller leaves then. Raises `LogUnavailableError`.
        """
        clock, pause = asyncio.get_running_loop().time, pace.first
        with self.broadcast.subscribe(address, kinds) as follower:
            while True:
                read_at = clock()
                yield head
                seconds = 0.0 if self._holders.draining.is_set() else min(left(), pause)
                newest = max((news.position for news in follower.drain() if isinstance(news, LoggedEvent)), default=0)
                is_old, follower.has_missed = follower.has_missed or newest > head.position, False
                if seconds > 0 and not is_old:
                    await follower.wait_beside(self._log.watch(address, head.position, seconds), seconds)
                    if (early := min(read_at + pace.first - clock(), seconds)) > 0:
                        await follower.wait(early)
                    pause = pace.after(pause)
                head = await self._log.head(address)

    async def _read(self, run: Run, view: RunView, follower: Follower) -> list[News]:
        """Return the log behind the view, through the run's end, and the unlogged updates of a run held here."""
        held, follower.has_missed, view.has_gap = self._holders.held.get(run.run_id), False, False
        head, unlogged = None, list[News]()
        if held is not None:  # before the log is read: newer updates are queued
            head = self._log.remembered(run.address) if view.position >= run.last else None
            unlogged += [] if held.superstep is None else [UnderWay(run.run_id, held.superstep)]
            unlogged += [DeltaText(run.run_id, 0, text, held.run.attempts)] if (text := held.streamed()) else []
        events = await self._log.events(run.address, view.position, head, through=run.end_position or MOST_POSITION)
        is_broken = bool(events) and events[0][0] != view.position + 1
        if is_broken or (not events and view.position < run.first):
            raise ThreadDeletedError(f"Run {run.run_id!r} was deleted with its thread.")
        return [*(LoggedEvent(position, event) for position, event in events), *unlogged]

    async def _provide(self, run: Run, client: EntityClient | None, patience: Patience) -> None:
        """Claim a run that is not held here, with a client, if it has no holder in its turn; else end it if it is lost.

        Raises as `ThreadLog.execute` does.
        """
        address, held = run.address, None
        if client is not None and run.claim is None:
            held = await self._holders.claim_next(address, run.run_id, client)
        if held is None and patience.is_due():
            command = patience.end(await self._log.head(address), run.claim, self._log.clocks.wall())
            if command is not None:
                await self._holders.execute(address, command)
