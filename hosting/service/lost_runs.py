"""How long a run may be queued, and its holder append nothing, before another process ends it; a run read from its log.

Theory. The times in a head are of other machines' clocks, which may be an hour off. So every limit is a difference of
two times of one's own clock: since when this process has seen the run unclaimed, or its holder idle. So no wait is
endless, whatever died.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from hosting.names import Address
from hosting.ports import Clock
from hosting.runner.held_run import LEASE_MARGIN_SECONDS, LEASE_SECONDS
from hosting.runner.thread_log import Decided, ThreadLog
from hosting.thread.commands import CancelRun, ExpireRun
from hosting.thread.conversation import Snapshot
from hosting.thread.head import Head
from hosting.thread.rows import RunRow
from hosting.thread.run import Run
from state.conversation import response_of

logger = logging.getLogger(__name__)


@dataclass
class IdleHolder:
    """Since when, by that clock, the holder of a thread's claim has appended nothing."""

    clock: Clock
    _seen: tuple[str, int] | None = None
    _since: float = 0.0

    def of(self, head: Head, least_seconds: float) -> str | None:
        """Return the head's append if its holder has appended nothing for at least so long, else None."""
        seen = None if head.claim is None else (head.claim.token, head.claim.renewals)
        if seen is None or seen != self._seen:
            self._seen, self._since = seen, self.clock()
        return head.append_id if seen is not None and self.clock() - self._since >= least_seconds else None


@dataclass
class QueueTime:
    """For how long a run was seen to wait for its first claim, from `began_at` on by that clock."""

    clock: Clock
    began_at: float
    seconds: float = 0.0

    def of(self, head: Head, run_id: str) -> float:
        """Return how long that is; nothing for a run that was ever claimed."""
        run = head.run(run_id)
        is_waiting = run is not None and run.attempts == 0 and run.cancelled is None
        self.seconds = self.clock() - self.began_at if is_waiting else 0.0
        return self.seconds


class LostRunCheck:
    """One caller's patience with a run: it reads the head now and then, and ends a run without a process.

    `publish` is called with what is appended for that.
    """

    def __init__(
        self,
        log: ThreadLog,
        run: Run,
        queue_seconds: float,
        *,
        publish: Callable[[Address, Decided], None],
    ) -> None:
        self._log = log
        self._address = run.address
        self._run_id = run.run_id
        self._queue_seconds = queue_seconds
        self._publish = publish
        self._clock = log.clocks.awake
        self._next_at = self._clock() + LEASE_SECONDS
        self._idle = IdleHolder(self._clock)
        self._queue_time = QueueTime(self._clock, self._clock())

    async def run(self, run: Run) -> None:
        """End the run if it has waited, or its holder has appended nothing, for longer than it may.

        Raises as `ThreadLog.execute` does.
        """
        if self._clock() < self._next_at:
            return
        self._next_at = self._clock() + LEASE_SECONDS
        head, claimed, now = await self._log.head(self._address), run.claim, self._log.clocks.wall()
        if self._queue_time.of(head, self._run_id) >= self._queue_seconds:
            cancelled = CancelRun(now, self._run_id, "queue_time")
            self._publish(self._address, await self._log.execute(self._address, cancelled))
        elif claimed is not None and head.is_held_by(claimed.token):
            longest = max(claimed.deadline - claimed.at, claimed.lease_seconds + LEASE_MARGIN_SECONDS)
            idle_append = self._idle.of(head, longest)
            if idle_append is not None:
                expired = ExpireRun(now, self._run_id, idle_append)
                self._publish(self._address, await self._log.execute(self._address, expired))


async def log_unknown_run(log: ThreadLog, address: Address, run_id: str, snapshot: Snapshot | None) -> None:
    """Log that a thread has no such run, although an instance that accepted it had its entity signalled.

    `snapshot` is what the operation for it came to: nothing is read for a run that it has.
    """
    if snapshot is not None and response_of(snapshot.conversation, run_id) is not None:
        return
    head = await log.head(address)
    if head.state != "open" or head.imported is not None or await log.row(address, RunRow, run_id, head) is not None:
        return
    logger.warning(
        "Run %s of thread %s of agent %s is not in this instance's log, so it does not run here. Another instance "
        "accepted it, in another store: give all of them the same AGENT_LOG. GET health/ready says more.",
        run_id,
        address.thread_id,
        address.agent,
    )
