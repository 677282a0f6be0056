"""One run that this process holds: its appends while the agent runs, and the records of earlier attempts.

Theory. Every append is made under the holder's token. So a holder that was taken over appends nothing, and must do
nothing more. Each append renews the lease. The agent runs on another event loop than the log, so its appends cross
over. Deltas that wait to be logged go before the step that follows them, in the same append. Deltas of an append with
an unknown outcome go again with the next one: each says its offset, so twice is as good as once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from hosting.core.agent.agent_loop import Stop
from hosting.core.agent.time_limits import UNLIMITED, AttemptTimes
from hosting.core.stores.contract import MOST_POSITION
from hosting.core.thread.commands import Change, Command, JoinRuns, RecordSteps, ReleaseRun, RetryRun, Unchanged
from hosting.core.thread.events import (
    Accepted,
    Cancelled,
    CancelReason,
    Checkpointed,
    Claimed,
    Completed,
    Failed,
    Joined,
    ModelResult,
    NoAnswer,
    Step,
    Terminal,
    ToolResult,
    ToolStarted,
)
from hosting.core.thread.head import Head
from hosting.core.thread.open_runs import OpenRun
from hosting.core.thread.rows import ApprovalRow, DeletedRow, RunRow
from hosting.core.thread.run import (
    Cancelling,
    Over,
    Run,
    end_by_joining,
    fold_run,
    instead_of,
    out_of_budget,
    superseded,
    text_so_far,
    unanswered,
    under_way,
)
from hosting.core.thread.run_request import Superstep
from hosting.core.thread.usage import NOTHING, TokenTotals
from hosting.core.thread_log import Decided, ThreadLog
from hosting.errors import BudgetExceededError, HostingError, RunSupersededError, UnstorableAnswerError
from hosting.names import Address
from hosting.principal import owner_of
from state.conversation import response_text
from state.models import ResponseEntry

T = TypeVar("T")

LEASE_SECONDS = 20.0
RENEWED_SHARE = 0.25
"""Of a lease: when nothing was appended for so long it is renewed, so that a slow store costs no run."""

MOST_JOINED = 20
"""So many runs join at one model call, because an append has a bound; more of them join at the next."""

LEASE_MARGIN_SECONDS = 5.0
"""A watcher's wait beyond a lease, because its clock and the holder's do not run at one speed."""


class StaleTokenError(Exception):
    """A newer attempt holds this run: the work of this one is dropped, and its delivery is given back to the host."""


class DrainingError(StaleTokenError):
    """The process is to end, and the run is handed on: another process replays its records."""


class HeldRun:
    """One run that this process holds, from its claim to its end or to the loss of the claim.

    Made on the log's loop; the agent's loop reads the recorded steps and calls `append`. `run` is the run as this
    holder knows it, which has just been claimed by `claim` at `claimed_at`. It may take until `until`, and this attempt
    until `stops_at`, moments of `Clocks.awake`: a wall clock that is set does not end it. From `leaves_at` on it is
    handed on behind its next step. `stop` ends it early, and `cancelled` is why it is to end, once that is known here.
    `as_claimed` is the run as it was then; `at_work` has the keys of the tool calls under way, and `at_most_once` those
    of this attempt that may not be made again.

    Recorded by earlier attempts: `models`, by the call within which the agent works ("" for the agent that runs) and
    the number of the model call, counted from 1; `started` and `results`, by the key of the tool call. `take_deltas`
    returns the deltas that wait to be logged; `unlogged` are those that may not be in the log although they were
    appended, and `streamed` returns all text of the newest attempt until now. `on_append` is called with every append,
    on the log's loop. `counted` returns what all model calls of the run used, as this attempt knows it, if anybody
    counts them.

    `superstep` is that of a workflow which is under way, and `on_superstep` is called with it whenever it has changed.

    `reporter` writes the progress of the run, once its code has reported any, and `loop` is that of the log.

    `is_over` is set when the run is held no more; `lost_by` is then what it was let go of for, if it did not end.
    """

    def __init__(
        self,
        log: ThreadLog,
        run: Run,
        claim: Claimed,
        *,
        began_at: float,
        on_append: Callable[[Decided], None],
        times: AttemptTimes = UNLIMITED,
        used_before: TokenTotals = NOTHING,
    ) -> None:
        """`began_at` is when the claim was given to the log: its lease runs since then, however late the answer.

        `times` are those of its agent. The runs of the thread that have ended used `used_before`.
        """
        self.address = run.address
        self.run = run
        self.run_id = claim.run_id
        self.token = claim.token
        self.holder = claim.holder
        self.claimed_at = run.last
        self._worked_since = began_at - claim.worked
        self.until = self._worked_since + times.run_seconds
        self.leaves_at, self.stops_at = began_at + times.work_seconds, began_at + times.longest_seconds
        self.as_claimed = run
        self.used_before = used_before
        self.clocks = log.clocks
        self.stop = Stop()
        self._steering: tuple[OpenRun, ...] = ()
        self._considered: set[str] = set()
        self.cancelled: CancelReason | None = run.state.reason if isinstance(run.state, Cancelling) else None
        self.checked_at = asyncio.get_running_loop().time()
        self.is_draining = self.is_unwatched = self.is_paused = False
        self.is_over = asyncio.Event()
        self.lost_by: Exception | None = None
        self.take_deltas: Callable[[], tuple[Step, ...]] = tuple
        self.streamed: Callable[[], str]
        self.counted: Callable[[], TokenTotals] = lambda: NOTHING
        self.unlogged: tuple[Step, ...] = ()
        self.reporter: Any = None
        self.on_superstep: Callable[[Superstep], None] = lambda superstep: None
        self._log = log
        self._on_append = on_append
        self._lease_seconds = claim.lease_seconds
        self._renewed_at = began_at
        self._tokens = {claim.token}
        self.at_work: set[str] = set()
        self.loop = asyncio.get_running_loop()
        self._appending = asyncio.Lock()
        self._replay()

    def _replay(self) -> None:
        """Replay the records so far; later steps are recorded."""
        self.at_most_once: set[str] = set()
        self._superstep: Superstep | None = None
        self.streamed = str
        steps = self.run.steps
        self.models = {(step.within, step.number): step for step in steps if isinstance(step, ModelResult)}
        self.started = {step.key: step for step in steps if isinstance(step, ToolStarted)}
        self.results = {step.key: step for step in steps if isinstance(step, ToolResult)}

    def joined(self, number: int) -> list[Joined]:
        """Return the runs that joined this one before its model call of that number."""
        return [joined for joined in self.run.joined if joined.number == number]

    @property
    def superstep(self) -> Superstep | None:
        """The superstep of a workflow that is under way here, None between two of them."""
        return under_way(self.run, self._superstep)

    def note(self, superstep: Superstep) -> None:
        """Publish the progress of a workflow's executors; from the agent's loop. It is not stored."""
        self.loop.call_soon_threadsafe(self._note, superstep)

    def _note(self, superstep: Superstep) -> None:
        self._superstep = superstep
        self.on_superstep(superstep)

    @property
    def has_lease(self) -> bool:
        """Whether no other process can hold the run yet: otherwise no model or tool call begins.

        It is never longer than what a watcher grants.
        """
        return self.clocks.awake() - self._renewed_at < self._lease_seconds

    @property
    def renewal_is_due(self) -> bool:
        """Whether it is time to renew the lease."""
        return self.clocks.awake() - self._renewed_at >= RENEWED_SHARE * self._lease_seconds

    def is_held_in(self, head: Head) -> bool:
        """Return whether the head names a claim of this holder; one read next to a retry may name that before it."""
        return head.claim is not None and head.claim.token in self._tokens

    def see(self, head: Head) -> OpenRun | None:
        """Return this run as the head has it; the queued runs there that may join it do so at its next model call."""
        if self.is_held_in(head):
            self._steering = tuple(run for run in head.joining if run.id not in self._considered)
        run = head.run(self.run_id)
        self.is_paused = run is not None and run.paused > 0
        return run

    def hand_over(self) -> None:
        """Stop the run and release it, wherever it is; a repeat changes nothing."""
        if not self.is_draining:
            self.is_draining = True
            self.stop.request()

    def superseded(self, moment: float, otherwise: str = "") -> Cancelled:
        """Return the end of this run, which was interrupted, with its text, logged or not."""
        run = self.run
        for delta in self.unlogged:
            run = run.after(run.last, delta)
        return superseded(self.run_id, moment, text_so_far(run) or otherwise)

    def out_of_budget(self, moment: float, error: BudgetExceededError) -> Failed:
        """Return the end of this run, which used up its budget, with its text, logged or not."""
        run = self.run
        for delta in self.unlogged:
            run = run.after(run.last, delta)
        return out_of_budget(self.run_id, moment, error, text_so_far(run))

    def unanswered(self, terminal: Terminal, error: HostingError) -> Terminal:
        """Return the end of this run instead of a refused one; of an interrupted run, with its answer's text."""
        if isinstance(error, RunSupersededError):
            answer = terminal.response if isinstance(terminal, Completed) else None
            words = response_text(answer) if isinstance(answer, ResponseEntry) else ""
            ended: NoAnswer = self.superseded(terminal.at, words)
        else:
            ended = unanswered(self.run_id, terminal.at, error)
        return instead_of(terminal, ended, self.run.usage.in_all(terminal).stored())

    def release(self) -> ReleaseRun:
        """Return the command that gives the run up after its signal was sent."""
        worked, unrecorded = self._worked(), self._unrecorded()
        return ReleaseRun(self.clocks.wall(), self.token, signalled=True, worked=worked, unrecorded=unrecorded)

    def _worked(self) -> int:
        """Return for how many seconds processes have had the run, as far as each of them wrote it down."""
        return int(self.clocks.awake() - self._worked_since)

    @property
    def is_leaving(self) -> bool:
        """Whether the run is to be released behind its next step."""
        return self.is_draining or self.is_unwatched or self.is_paused or self.clocks.awake() >= self.leaves_at

    def left(self) -> DrainingError:
        """Return what ends this attempt between two steps, for another process to go on, now or after a pause."""
        why = "paused" if self.is_paused else "handed to another process"
        return DrainingError(f"Run {self.run_id} is {why} after this step.")

    def _unrecorded(self) -> dict[str, int]:
        """Return the usage of model calls that no event of the run has; empty if it is not counted."""
        return self.counted().beyond(self.run.usage.recorded)

    async def append(self, *steps: Step) -> None:
        """Append steps from the agent's loop, in one write; return once they are in the log.

        Raises `StaleTokenError` when this attempt does not hold the run any more, and `LogUnavailableError` when the
        log stays away. Both end the attempt, and a later one continues from the recorded steps.
        """
        await self.on_loop(self.append_on_loop(*steps))

    async def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work on the log's loop; from the agent's."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def append_on_loop(self, *steps: Step) -> None:
        """Append waiting deltas, then the steps; raises as `append` does. On the log's loop.

        Without either it returns at once, unless the lease was not renewed in time. So before a model or tool call this
        finds out whether the run was taken over. While the run is to be handed on (`is_leaving`), the next tool result
        is the last step if no other tool is at work: its append raises `DrainingError`. While it is to pause, no tool
        call begins either.
        """
        begun = [step.key for step in steps if isinstance(step, ToolStarted)]
        is_stopped = self.is_paused and bool(begun) and self.at_work == self._around(begun)
        if is_stopped:
            steps = tuple(step for step in steps if not isinstance(step, ToolStarted))
        async with self._appending:
            deltas = self.unlogged = (*self.unlogged, *self.take_deltas())
            if deltas or steps or not self.has_lease:  # an append proves a lease that may have been lost
                await self._execute(RecordSteps(self.token, (*deltas, *steps), self._worked()))
            self.unlogged = self.unlogged[len(deltas) :]
        ended = [step.key for step in steps if isinstance(step, ToolResult)]
        is_between = is_stopped or bool(ended) or any(isinstance(step, Checkpointed) for step in steps)
        self.at_work.update([] if is_stopped else begun)
        self.at_work.difference_update(ended)
        if is_between and self.at_work == self._around([*ended, *begun]) and self.is_leaving:
            raise self.left()

    def _around(self, keys: Iterable[str]) -> set[str]:
        """Return the tools at work around these calls: agents, which may be cut short, for their steps are replayed."""
        return {tool for tool in self.at_work if any(key.startswith(f"{tool}/") for key in keys)}

    async def take_steering(self, number: int) -> None:
        """Have the runs that may join this one do so before its model call of that number. From the agent's loop.

        Raises as `append` does.
        """
        if self._steering:
            await self.on_loop(self._take_steering(number))

    async def _take_steering(self, number: int) -> None:
        """Only messages of the run's own caller join: its tools work in the name of that person."""
        queued, self._steering = self._steering[:MOST_JOINED], self._steering[MOST_JOINED:]
        ids = {run.id for run in queued}
        self._considered |= ids
        logged = await self._log.events(self.address, queued[0].first - 1, through=queued[-1].first)
        caller, moment = owner_of(self.run.accepted.principal), self.clocks.wall()
        joining = tuple(
            end_by_joining(event, self.run_id, number, moment)
            for _, event in logged
            if isinstance(event, Accepted) and event.run_id in ids and owner_of(event.principal) == caller
        )
        if joining:
            async with self._appending:
                await self._execute(JoinRuns(self.token, joining, self._worked()))

    async def run_before(self) -> Run | None:
        """Return the ended run that requested the approvals; None if its events are gone. From the agent's loop."""
        return await self.on_loop(self._read_before())

    async def _read_before(self) -> Run | None:
        decided = self.run.accepted.request.decisions[0]
        head = await self._log.head(self.address)
        row = await self._log.row(self.address, ApprovalRow, decided.id, head)
        run = await read_run(self._log, self.address, row.asked_by, head) if isinstance(row, ApprovalRow) else None
        return run if isinstance(run, Run) else None

    async def renew(self) -> None:
        """Renew the lease by an append without events; raises as `append` does."""
        await self._execute(RecordSteps(self.token, worked=self._worked()))

    async def retry(self, new_token: str, failed: str) -> None:
        """Go on in another attempt, under a new token; raises as `append` does, also where the run ends by it."""
        await self.append_on_loop()
        retry = RetryRun(self.clocks.wall(), self.token, new_token, failed, self._unrecorded(), self._worked())
        self._tokens.add(new_token)
        self.token = new_token  # a renewal that comes meanwhile is appended after this, and needs the new one
        try:
            await self._execute(retry)
        except Exception:
            self.token = retry.token
            raise
        if isinstance(self.run.state, Over):
            raise StaleTokenError(f"Run {self.run_id} was cancelled and is not retried.")
        self._replay()

    async def _execute(self, command: Command) -> None:
        try:
            decided = await self._log.execute(self.address, command)
        except ValueError as error:  # values nested too deep: every later attempt has them too
            raise unstorable_step(self.run_id) from error
        if isinstance(decided.outcome, Unchanged):  # no queued run may join any more
            return
        if not isinstance(decided.outcome, Change):
            raise StaleTokenError(f"Run {self.run_id} is held by another attempt, or has ended.")
        self._renewed_at = max(self._renewed_at, decided.began_at)
        for position, event in decided.events:
            self.run = self.run.after(position, event)
        self._on_append(decided)


def unstorable_step(run_id: str) -> UnstorableAnswerError:
    """Return the end of a run with an unwritable step; raised from the cause, which is logged with it."""
    return UnstorableAnswerError(f"A step of the run cannot be stored. The log has the cause under run {run_id}.")


async def read_run(log: ThreadLog, address: Address, run_id: str, head: Head | None = None) -> Run | DeletedRow | None:
    """Return the run as the log has it; None for an unknown run, or after its events were removed by age.

    `head` is the thread's, where the caller has just read it. Raises `LogUnavailableError` and `NewerVersionError`.
    """
    head = head or await log.head(address)
    row = await log.row(address, RunRow, run_id, head)
    if not isinstance(row, RunRow):
        return row
    if row.first <= head.trimmed:
        return None  # the process that trimmed it may have died before all of it was removed
    listed = await log.events(address, row.first - 1, through=row.last or MOST_POSITION)
    run = fold_run(address, run_id, listed, row.epoch)
    if run is None or row.last is None or not run.requested_approvals:
        return run
    for position, event in await log.events(address, row.last):  # answers to what it asked for stand after its end
        run = run.after(position, event)
    return run
