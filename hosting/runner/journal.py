"""What one holder appends to the thread's log while its agent runs, and what an earlier attempt recorded.

Theory. Every append is made under the holder's token, so one that was taken over appends nothing and must do nothing
more. Each append renews the lease. The agent runs on a loop of its own and the log belongs to another, so appending
crosses over. Words that wait to be logged go before the step that follows them, in the same append. Words of an append
that nobody knows the outcome of go again with the next: they say their offset, so twice is as good as once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from hosting.address import Address
from hosting.runner.lease import Lease
from hosting.steps.step_journal import RunIds, StaleAttemptError
from hosting.stores.thread_log import Asked, ThreadLog
from hosting.thread.commands import Change, Command, Record, Release, Retry
from hosting.thread.events import Delta, Event, ModelResult, Step, ToolResult, ToolStarted
from hosting.thread.head import Head
from hosting.thread.run import RunRecord


class LeavingError(StaleAttemptError):
    """The process is to end, and the run is handed on: what was recorded is given again elsewhere."""


Told = Callable[[Asked], None]


class Journal:
    """The steps of one holder's run. Made on the log's loop; `model`, `started`, `result` and `append` are the agent's.

    `run` is the run as this holder knows it, from its claim on. `take_words` gives what the agent has said and the log
    does not have yet. `told` hears of every append, on the log's loop. Once it is `leaving`, the step that is recorded
    next is the last: its append raises `LeavingError`.
    """

    def __init__(
        self,
        log: ThreadLog,
        address: Address,
        run: RunRecord,
        token: str,
        lease: Lease,
        *,
        told: Told,
    ) -> None:
        self.run = run
        self.token = token
        self._tokens = {token}
        self.lease = lease
        self.take_words: Callable[[], tuple[Delta, ...]] = tuple
        self._log = log
        self._address = address
        self._told = told
        self.leaving = False
        self._loop = asyncio.get_running_loop()
        self._appending = asyncio.Lock()
        self._unsure: tuple[Delta, ...] = ()
        self._remember()

    @property
    def ids(self) -> RunIds:
        """See `StepJournal`."""
        accepted = self.run.accepted
        return RunIds(accepted.agent, self._address.thread_id, accepted.run_id)

    def is_held_in(self, head: Head) -> bool:
        """Tell whether the head names a claim of this holder; one read beside a retry may name that before it."""
        return head.claim is not None and head.claim.token in self._tokens

    def model(self, number: int, within: str = "") -> ModelResult | None:
        """See `StepJournal`."""
        return self._models.get((within, number))

    def started(self, key: str) -> ToolStarted | None:
        """See `StepJournal`."""
        return self._started.get(key)

    def result(self, key: str) -> ToolResult | None:
        """See `StepJournal`."""
        return self._results.get(key)

    async def append(self, *steps: ModelResult | ToolStarted | ToolResult) -> None:
        """See `StepJournal`."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.append_here(*steps), self._loop))

    async def append_here(self, *steps: Step) -> None:
        """Append words that wait, then the steps; raises as `append` does. On the log's loop.

        Without either it returns at once, unless the lease was not renewed in time: whoever is about to call a model or
        a tool asks here first, and does not call where the run was taken over.
        """
        async with self._appending:
            self._unsure = (*self._unsure, *self.take_words())
            if self._unsure or steps or not self.lease.is_held:  # an append proves a lease that may have been lost
                await self._ask(Record(self.token, (*self._unsure, *steps)))
            self._unsure = ()
        if self.leaving and any(isinstance(step, ToolResult) for step in steps):
            raise LeavingError(f"Run {self.run.accepted.run_id} is let go of behind this step.")

    def unlogged(self, last: tuple[Delta, ...]) -> tuple[Delta, ...]:
        """Return what goes with the end: words that may not be in the log yet, then the last ones."""
        return (*self._unsure, *last)

    async def renew(self) -> None:
        """Renew the lease by an append without events; raises as `append` does."""
        await self._ask(Record(self.token))

    async def retry(self, new_token: str, failed: str) -> None:
        """Go on in another attempt, under a new token; raises as `append` does, also where the run ends by it."""
        await self.append_here()
        retry = Retry(time.time(), self.token, new_token, failed)
        self._tokens.add(new_token)
        self.token = new_token  # whoever is told of the append knows it by this
        try:
            await self._ask(retry)
        except Exception:
            self.token = retry.token
            raise
        if self.run.is_over:
            raise StaleAttemptError(f"Run {self.run.accepted.run_id} was cancelled and is not tried again.")
        self._remember()

    async def release(self, *, signalled: bool) -> None:
        """Let go of the run, for somebody else to go on with; raises as `append` does."""
        await self.append_here()
        await self._ask(Release(time.time(), self.token, signalled))

    def _remember(self) -> None:
        """Have what is recorded until now given again, and what follows recorded."""
        steps = self.run.steps
        self._models = {(step.within, step.number): step for step in steps if isinstance(step, ModelResult)}
        self._started = {step.key: step for step in steps if isinstance(step, ToolStarted)}
        self._results = {step.key: step for step in steps if isinstance(step, ToolResult)}

    async def _ask(self, command: Command) -> None:
        began_at = self.lease.begin()
        asked = await self._log.ask(self._address, command)
        if not isinstance(asked.outcome, Change):
            raise StaleAttemptError(f"Run {self.run.accepted.run_id} is held by another attempt, or has ended.")
        self.lease.renew(began_at)
        for position, event in appended(asked):
            self.run = self.run.after(position, event)
        self._told(asked)


def appended(asked: Asked) -> list[tuple[int, Event]]:
    """Return the events that an append added, with their positions."""
    assert isinstance(asked.outcome, Change)
    first = asked.head.position - len(asked.outcome.events) + 1
    return list(enumerate(asked.outcome.events, start=first))
