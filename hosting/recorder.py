"""What one attempt records, whichever agent's steps they are, and why the attempt was ended, if it was."""

from __future__ import annotations

from agent_framework import MiddlewareFailure

from hosting.events import ModelResult, Step
from hosting.journal import Journal
from hosting.ports import Clock


class AttemptEndedError(MiddlewareFailure):
    """Takes an attempt out of the framework's loop; `Recorder.cause` has the reason."""


class Recorder:
    """Appends an attempt's steps. Once one cannot be, `cause` says why, and nothing more is to be done."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.cause: Exception | None = None
        self.journal = journal
        self.clock = clock
        self._unwritten: list[ModelResult] = []

    def keep(self, said: ModelResult) -> None:
        """Keep what a model said, to be written with the first tool call that it asks for."""
        self._unwritten.append(said)

    async def append(self, *steps: Step) -> None:
        """Append the steps, behind a model's answer that waits for them: between the two nothing happens."""
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
