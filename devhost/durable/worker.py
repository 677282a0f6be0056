"""The loop around the core: finds who has messages, calls processors, commits what they answer.

The store is the truth: what waits for a target is read when its turn comes. Memory has only hints: targets that may
have something, and when to look at them again. So other processes may send and forget while this one works, and waiting
messages cost no memory. A hint too many costs one read. Of what other processes send there is no hint: `queuepoll`
finds it.

Every target with a hint has one pump, a task that lives until there is nothing more to do. So work of one target is
done in order and one at a time, work of different targets side by side, up to the limits of host.json. A message leaves
the store only in the step that handled it: a process that dies delivers it again when it is started next. A step that
was decided on what another process changed meanwhile is not kept; the target is looked at again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime

from devhost.durable.clock import Clock
from devhost.durable.errors import DurableError, StaleStepError
from devhost.durable.ledger import Ledger
from devhost.durable.records import Target, TargetKind
from devhost.durable.steps import log_step
from devhost.durable.timers import Timers
from devhost.durable.work import Abandoned, Done, Held, Outcome, Processor

logger = logging.getLogger(__name__)

_FIRST_RETRY_SECONDS = 3.0
_LONGEST_RETRY_SECONDS = 60.0
_UNWIND_SECONDS = 2.0  # for code that was cancelled when the grace was over


class Worker:
    """Delivers messages to processors, at least once each."""

    def __init__(
        self,
        ledger: Ledger,
        processors: Mapping[TargetKind, Processor],
        limits: Mapping[TargetKind, int],
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._processors = processors
        self._limits = {kind: asyncio.Semaphore(limit) for kind, limit in limits.items()}
        self._clock = clock
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
                logger.error("A function goes on though it was cancelled, and is left behind; its work is done again.")
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
                    outcome = None if self._is_stopping else await self._try_to_work(target)
                match outcome:
                    case Done():
                        failures = 0
                    case Abandoned(reason):
                        self._hinted.add(target)
                        await self._pause(
                            target, min(_FIRST_RETRY_SECONDS * 2**failures, _LONGEST_RETRY_SECONDS), reason
                        )
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
        except StaleStepError as stale:
            logger.debug("%s is looked at again: %s", target.id, stale)
            self._hinted.add(target)
            return None
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
        inbox = await self._ledger.inbox(target, processor.most_messages)
        if inbox.next_due is not None:
            # Added, not set: what was sent while this was read may be due earlier, or the only one.
            self._timers.add(target, inbox.next_due)
        if not inbox.messages:
            return None
        outcome = await processor.process(target, inbox)
        if isinstance(outcome, Done):
            await self._ledger.commit(outcome.step, outcome.past)
            log_step(target, inbox.messages, outcome.step)
            if outcome.step.silenced == target:
                self._timers.set(target, None)
            if not inbox.is_all or len(outcome.step.consumed) < len(inbox.messages):
                self._hinted.add(target)
        return outcome

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
