"""What one holder appends to the thread's log while its agent runs, and what earlier attempts recorded.

Theory. Every append is made under the holder's token. So a holder that was taken over appends nothing, and must do
nothing more. Each append renews the lease. The agent runs on another event loop than the log, so its appends cross
over. Deltas that wait to be logged go before the step that follows them, in the same append. Deltas of an append with
an unknown outcome go again with the next one: each says its offset, so twice is as good as once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from hosting.errors import UnstorableAnswerError
from hosting.names import Address
from hosting.ports import awake_seconds
from hosting.runner.thread_log import Decided, ThreadLog
from hosting.thread.commands import Change, Command, RecordSteps, RetryRun
from hosting.thread.events import Delta, ModelResult, Step, ToolResult, ToolStarted
from hosting.thread.head import Head
from hosting.thread.run import RunRecord

LEASE_SECONDS = 20.0
RENEWED_SHARE = 0.25
"""Of a lease: when nothing was appended for so long it is renewed, so that a slow store costs no run."""

LEASE_MARGIN_SECONDS = 5.0
"""What a watcher waits beyond a lease, because its clock and the holder's do not run at one speed."""


class StaleTokenError(Exception):
    """A newer attempt holds this run: what this one did is dropped, and its delivery is given back to the host."""


@dataclass(eq=False)
class Lease:
    """A claim's lease, as its holder knows it: never longer than what a watcher grants."""

    seconds: float = LEASE_SECONDS
    clock: Callable[[], float] = awake_seconds

    def __post_init__(self) -> None:
        self._renewed_at = self.clock()

    def renew(self, began_at: float) -> None:
        """Let the lease run from the moment before the append that renewed it: it does not count from its answer."""
        self._renewed_at = max(self._renewed_at, began_at)

    @property
    def is_held(self) -> bool:
        """Whether nobody may have taken the run over yet: otherwise no model or tool call is begun."""
        return self.clock() - self._renewed_at < self.seconds

    @property
    def is_due(self) -> bool:
        """Whether it is time to renew it."""
        return self.clock() - self._renewed_at >= RENEWED_SHARE * self.seconds


class DrainingError(StaleTokenError):
    """The process is to end, and the run is handed on: what was recorded is replayed elsewhere."""


class Journal:
    """The steps of one holder's run. Made on the log's loop; the agent reads the recorded steps and calls `append`.

    `run` is the run as this holder knows it, from its claim on. Recorded by earlier attempts: `models`, by the call
    within which the agent works ("" for the agent that runs) and the number of the model call, counted from 1;
    `started` and `results`, by the key of the tool call. `take_deltas` returns the deltas that the log does not have.
    `on_append` is called with every append, on the log's loop. While it `is_draining`, the next tool result is the last
    step if no other tool is at work: its append raises `DrainingError`.
    """

    def __init__(
        self,
        log: ThreadLog,
        address: Address,
        run: RunRecord,
        token: str,
        lease: Lease,
        *,
        on_append: Callable[[Decided], None],
    ) -> None:
        self.address = address
        self.run = run
        self.token = token
        self.lease = lease
        self.is_draining = False
        self.take_deltas: Callable[[], tuple[Delta, ...]] = tuple
        self._log = log
        self._on_append = on_append
        self._tokens = {token}
        self._at_work: set[str] = set()
        self._loop = asyncio.get_running_loop()
        self._appending = asyncio.Lock()
        self._unsure: tuple[Delta, ...] = ()
        self._replay()

    def _replay(self) -> None:
        """Replay what is recorded until now; what follows is recorded."""
        steps = self.run.steps
        self.models = {(step.within, step.number): step for step in steps if isinstance(step, ModelResult)}
        self.started = {step.key: step for step in steps if isinstance(step, ToolStarted)}
        self.results = {step.key: step for step in steps if isinstance(step, ToolResult)}

    def is_held_in(self, head: Head) -> bool:
        """Return whether the head names a claim of this holder; one read next to a retry may name that before it."""
        return head.claim is not None and head.claim.token in self._tokens

    async def append(self, *steps: Step) -> None:
        """Append steps from the agent's loop, in one write; return once they are in the log.

        Raises `StaleTokenError` when this attempt does not hold the run any more, and `LogUnavailableError` when the
        log stays away. Both end the attempt, and a later one continues from what is recorded.
        """
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.append_on_loop(*steps), self._loop))

    async def append_on_loop(self, *steps: Step) -> None:
        """Append waiting deltas, then the steps; raises as `append` does. On the log's loop.

        Without either it returns at once, unless the lease was not renewed in time. So before a model or tool call this
        finds out whether the run was taken over.
        """
        async with self._appending:
            self._unsure = (*self._unsure, *self.take_deltas())
            if self._unsure or steps or not self.lease.is_held:  # an append proves a lease that may have been lost
                await self._do(RecordSteps(self.token, (*self._unsure, *steps)))
            self._unsure = ()
        ended = [step.key for step in steps if isinstance(step, ToolResult)]
        self._at_work.update(step.key for step in steps if isinstance(step, ToolStarted))
        self._at_work.difference_update(ended)
        # An agent that is a tool may be cut short, because its own steps are replayed.
        around = {tool for tool in self._at_work if any(key.startswith(f"{tool}/") for key in ended)}
        if self.is_draining and ended and self._at_work == around:
            raise DrainingError(f"Run {self.run.run_id} is let go of behind this step.")

    def unconfirmed(self, last: tuple[Delta, ...]) -> tuple[Delta, ...]:
        """Return what is appended with the end: deltas that may not be in the log yet, then the last ones."""
        return (*self._unsure, *last)

    async def renew(self) -> None:
        """Renew the lease by an append without events; raises as `append` does."""
        await self._do(RecordSteps(self.token))

    async def retry(self, new_token: str, failed: str) -> None:
        """Go on in another attempt, under a new token; raises as `append` does, also where the run ends by it."""
        await self.append_on_loop()
        retry = RetryRun(time.time(), self.token, new_token, failed)
        self._tokens.add(new_token)
        self.token = new_token  # `on_append` knows the append by this
        try:
            await self._do(retry)
        except Exception:
            self.token = retry.token
            raise
        if self.run.is_over:
            raise StaleTokenError(f"Run {self.run.run_id} was cancelled and is not tried again.")
        self._replay()

    async def _do(self, command: Command) -> None:
        began_at = self.lease.clock()
        try:
            decided = await self._log.execute(self.address, command)
        except ValueError as error:  # values nested too deep: every later attempt has them too
            raise unstorable_step(self.run.run_id) from error
        if not isinstance(decided.outcome, Change):
            raise StaleTokenError(f"Run {self.run.run_id} is held by another attempt, or has ended.")
        self.lease.renew(began_at)
        for position, event in decided.events:
            self.run = self.run.after(position, event)
        self._on_append(decided)


def unstorable_step(run_id: str) -> UnstorableAnswerError:
    """Return why a run ends whose step cannot be written; raised from the cause, which is logged with it."""
    return UnstorableAnswerError(f"A step of the run cannot be kept; the cause is in the log under run {run_id}.")
