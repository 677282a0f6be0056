"""The loop around the core: delivers messages, calls processors, commits what they answer.

Every target that has messages has one pump, a task that lives until its mailbox is empty; a target without messages has
nothing in memory. So work of one target is done in order and one at a time, work of different targets side by side, up
to the limits of host.json. A message leaves the store only in the step that handled it: a process that dies delivers it
again when it is started next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from devhost.durable.clock import Clock, sleep
from devhost.durable.ledger import Ledger
from devhost.durable.records import Message, Target, TargetKind
from devhost.durable.steps import log_step
from devhost.durable.timers import Timers
from devhost.durable.work import Abandoned, Done, Held, Outcome, Processor

logger = logging.getLogger(__name__)

_FIRST_RETRY_SECONDS = 3.0
_LONGEST_RETRY_SECONDS = 60.0


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
        self._timers = Timers(clock, self._put)
        self._mailboxes: dict[Target, list[Message]] = {}
        self._pumps: dict[Target, asyncio.Task[None]] = {}
        self._busy: set[Target] = set()
        self._is_stopping = False

    def deliver(self, message: Message) -> None:
        """Take a durable message: handle it as soon as its turn comes, or when it is due."""
        if message.due is not None and message.due > self._clock.now():
            self._timers.add(message, message.due)
        else:
            self._put(message)

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing new, give running work so long to end, and leave the rest to the next start."""
        self._is_stopping = True
        self._timers.stop()
        running = [self._pumps[target] for target in self._busy if target in self._pumps]
        if running:
            await asyncio.wait(running, timeout=grace_seconds)
        rest = list(self._pumps.values())
        for pump in rest:
            pump.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _put(self, message: Message) -> None:
        self._mailboxes.setdefault(message.target, []).append(message)
        if message.target not in self._pumps and not self._is_stopping:
            pump = asyncio.get_running_loop().create_task(self._pump(message.target))
            self._pumps[message.target] = pump

    async def _pump(self, target: Target) -> None:
        try:
            await self._empty(target)
        finally:
            del self._pumps[target]

    async def _empty(self, target: Target) -> None:
        """Handle the mailbox until it is empty, the app lacks the function, or the worker stops."""
        failures = 0
        while mailbox := self._mailboxes[target]:
            async with self._limits[target.kind]:
                if self._is_stopping:
                    return
                messages = list(self._processors[target.kind].take(mailbox))
                outcome = await self._handle(target, messages)
            match outcome:
                case Done():
                    del mailbox[: len(messages)]
                    failures = 0
                case Held(reason):
                    logger.error("%d messages for %s wait: %s", len(mailbox), target.id, reason)
                    return
                case Abandoned(reason):
                    seconds = min(_FIRST_RETRY_SECONDS * 2**failures, _LONGEST_RETRY_SECONDS)
                    logger.error("%s failed and is tried again in %.0f s: %s", target.id, seconds, reason)
                    failures += 1
                    await sleep(self._clock, seconds)
        del self._mailboxes[target]

    async def _handle(self, target: Target, messages: Sequence[Message]) -> Outcome:
        """Process and commit; a fault of the engine itself is logged and tried again like the app's."""
        self._busy.add(target)
        try:
            outcome = await self._processors[target.kind].process(target, messages)
            if isinstance(outcome, Done):
                await self._commit(target, messages, outcome)
        except Exception as error:
            logger.exception("The durable engine failed on %s", target.id)
            return Abandoned(repr(error))
        finally:
            self._busy.discard(target)
        return outcome

    async def _commit(self, target: Target, messages: Sequence[Message], done: Done) -> None:
        step = replace(done.step, produced=self._ledger.address(done.outgoing))
        await self._ledger.commit(step, done.past)
        log_step(target, messages, step)
        if done.step.silenced is not None:
            self._timers.drop(done.step.silenced)
