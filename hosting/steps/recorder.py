"""What one attempt records, whichever agent's steps they are, and why the attempt was ended, if it was."""

from __future__ import annotations

import asyncio

from agent_framework import MiddlewareFailure

from hosting.events import Step
from hosting.ports import Clock
from hosting.steps.step_journal import StepJournal
from hosting.thread.events import ModelResult, ToolStarted


class AttemptEndedError(MiddlewareFailure):
    """Takes an attempt out of the framework's loop; `Recorder.cause` has the reason."""


class Recorder:
    """Appends an attempt's steps. Once one cannot be, `cause` says why, and nothing more is to be done."""

    def __init__(self, journal: StepJournal, clock: Clock) -> None:
        self.cause: Exception | None = None
        self.journal = journal
        self.clock = clock
        self._unwritten: list[Step] = []
        self._beginning: asyncio.Future[None] | None = None

    @property
    def run_id(self) -> str:
        """The run that the steps are of."""
        return self.journal.ids.run_id

    def keep(self, said: ModelResult) -> None:
        """Keep what a model said, to be written with the tool calls that it asks for: nothing happens in between."""
        self._unwritten.append(said)

    async def begin(self, call: ToolStarted) -> None:
        """Append that the call begins, in one write with all that begin at the same moment."""
        self._unwritten.append(call)
        if self._beginning is not None:
            await asyncio.shield(self._beginning)
            return
        written = self._beginning = asyncio.get_running_loop().create_future()
        try:
            await asyncio.sleep(0)  # lets the others come
            self._beginning = None
            await self.append()
        except BaseException as error:
            self._beginning = None
            written.set_exception(error)
            written.exception()  # there may be no other to look at it
            raise
        written.set_result(None)

    async def append(self, *steps: Step) -> None:
        """Append the steps, behind those that wait."""
        waiting, self._unwritten = self._unwritten, []
        if not waiting and not steps:
            return
        try:
            await self.journal.append(*waiting, *steps)
        except Exception as error:
            raise self.ended(error) from error

    def ended(self, cause: Exception) -> AttemptEndedError:
        """Return what takes the attempt out of the framework's loop: for this cause, or for the one before it."""
        self.cause = self.cause or cause
        return AttemptEndedError("The attempt is over.")
