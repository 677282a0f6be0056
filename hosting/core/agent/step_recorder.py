"""The recorder of one attempt: it appends what the attempt does, and ends it where that cannot be recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from agent_framework import AgentSession, MiddlewareFailure
from msgspec import Struct, field

from hosting.core.agent.calls_not_made import interrupted
from hosting.core.agent.held_run import HeldRun, unstorable_step
from hosting.core.agent.recorded import result_of_cut_call
from hosting.core.agent.session_changes import put_back
from hosting.core.hooks import AttemptMeter
from hosting.core.thread.events import Step, ToolResult, ToolStarted

T = TypeVar("T")


class AttemptEndedError(MiddlewareFailure):
    """Takes an attempt out of the framework's loop; `StepRecorder.cause` has the reason."""


class StepRecorder(Struct, eq=False):
    """Appends the steps of one attempt, of any agent. `cause` is why the attempt was ended, once it was.

    `reports_unknown_outcomes`: the model reads that a tool call was cut short; otherwise the run fails by it. `pending`
    are steps that are appended with the next one. `meter` is there where model calls are counted; with a budget every
    answer of a model is a step but for the one in the run's end. `drops_thoughts`: those of models are in no step.
    `tools` are those that the model was offered last, `questions` those that its tools asked in this attempt.
    """

    held: HeldRun
    reports_unknown_outcomes: bool
    cause: Exception | None = None
    meter: AttemptMeter | None = None
    drops_thoughts: bool = False
    pending: list[Step] = field(default_factory=list)
    tools: Sequence[Any] = ()
    questions: set[Any] = field(default_factory=set)
    _replayed_session: int = -1
    _starting: asyncio.Future[None] | None = None

    @property
    def has_budget(self) -> bool:
        """Whether earlier usage may have later model calls refused."""
        return self.meter is not None and self.meter.has_budget

    async def start(self, call: ToolStarted | ToolResult) -> None:
        """Append that the call starts, or was cut short, in one append with all calls of the same moment."""
        self.pending.append(call)
        if self._starting is not None:
            await asyncio.shield(self._starting)
            return
        appended = self._starting = asyncio.get_running_loop().create_future()
        try:
            await asyncio.sleep(0)  # lets the others come
            self._starting = None
            await self.append()
        except BaseException as error:
            self._starting = None
            appended.set_exception(error)
            appended.exception()  # perhaps nothing else waits for it
            raise
        appended.set_result(None)

    async def append(self, *steps: Step) -> None:
        """Append the steps, after the pending ones; without any, only make sure that the lease is still held."""
        pending, self.pending = self.pending, []
        if not pending and not steps and self.held.has_lease:
            return
        await self.done(self.held.append(*pending, *steps))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """End the attempt where a step of it cannot be written in the block: values nested too deep.

        A tool's call would otherwise count as failed, and the model would learn that of a call that was made.
        """
        try:
            yield
        except (RecursionError, TypeError, ValueError) as error:
            cause = unstorable_step(self.held.run_id)
            cause.__cause__ = error
            raise self.ended(cause) from cause

    def put_session_back(self, session: AgentSession | None, result: ToolResult) -> None:
        """Give the session the recorded call's changes, unless a call that ended after it was replayed before."""
        number = list(self.held.results).index(result.key) if result.session else -1
        if result.session and number > self._replayed_session:
            self._replayed_session = number
            put_back(session, result.session)

    async def done(self, work: Awaitable[T], errors: type[Exception] = Exception) -> T:
        """Return the result of the work; end the attempt if it raises one of these errors."""
        try:
            return await work
        except errors as error:
            raise self.ended(error) from error

    def ended(self, cause: Exception) -> AttemptEndedError:
        """Return the exception that ends the framework's loop for this attempt: for this cause, or an earlier cause."""
        self.cause = self.cause or cause
        return AttemptEndedError("The attempt is over.")


async def cut_short(recorder: StepRecorder, key: str, name: str) -> ToolResult:
    """Append the result of a call that began in an earlier attempt and is not made again; return it.

    It is appended before the model gets it, or the run fails by it: so a reader of the run sees the call end. Where
    the run is to fail, no call next to it is made any more while this is appended.
    """
    if not recorder.reports_unknown_outcomes:
        recorder.ended(interrupted(name))
    result = result_of_cut_call(recorder.held.run_id, recorder.held.clocks.wall(), key)
    await recorder.start(result)
    return result
