"""A run's journal as the recorder of its steps sees it, whichever log keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hosting.thread.events import ModelResult, ToolResult, ToolStarted


class StaleAttemptError(Exception):
    """A newer attempt holds this run: what this one did is dropped, and its delivery is given back to the host."""


@dataclass(frozen=True)
class RunIds:
    """Whose steps they are; `agent` as it is named in the app."""

    agent: str
    thread_id: str
    run_id: str


class StepJournal(Protocol):
    """The steps of one attempt, used on the loop on which agents run."""

    @property
    def ids(self) -> RunIds:
        """The run."""
        ...

    def model(self, number: int, within: str = "") -> ModelResult | None:
        """Return what an earlier attempt recorded of an agent's n-th model call, counted from 1.

        `within` is the key of the call that the agent is the tool of, empty for the agent that runs.
        """
        ...

    def started(self, key: str) -> ToolStarted | None:
        """Return the record that an earlier attempt began a tool call."""
        ...

    def result(self, key: str) -> ToolResult | None:
        """Return what an earlier attempt recorded of a tool call's end."""
        ...

    async def append(self, *steps: ModelResult | ToolStarted | ToolResult) -> None:
        """Append steps, in one write; returns once they are in the log.

        Raises `StaleAttemptError` when this attempt does not hold the run any more, `LogUnavailableError` when the log
        stays away: both end the attempt, and a later one goes on from what is recorded.
        """
        ...
