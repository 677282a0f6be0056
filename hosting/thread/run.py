"""One run as its events tell it: what is answered about it, and what a later attempt is given again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hosting.thread.events import (
    TERMINALS,
    Accepted,
    ApprovalAnswered,
    CancelRequested,
    Claimed,
    Deleting,
    Delta,
    Event,
    ModelResult,
    RunEvent,
    Terminal,
    ToolResult,
    ToolStarted,
)


@dataclass(frozen=True)
class RunRecord:
    """One run at a moment. `first` and `last` are the positions of its first event and of its newest.

    `failures` counts the attempts that failed and were made again. `text` is what the agent has said so far; as much of
    it as `settled` characters is known to every later attempt. `is_deleted`: its thread went, before the run had an end
    of its own.
    """

    accepted: Accepted
    first: int
    last: int
    claim: Claimed | None = None
    failures: int = 0
    cancelled: bool = False
    text: str = ""
    settled: int = 0
    steps: tuple[ModelResult | ToolStarted | ToolResult, ...] = ()
    terminal: Terminal | None = None
    answers: tuple[ApprovalAnswered, ...] = ()
    is_deleted: bool = False

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.accepted.run_id

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more will come of it but answers to its approvals."""
        return self.terminal is not None or self.is_deleted

    def unfinished_tools(self) -> tuple[ToolStarted, ...]:
        """Return the tools that were started and have no result, in order.

        Whoever has just claimed the run knows of these that nobody will ever tell what came of them.
        """
        ended = {step.key for step in self.steps if isinstance(step, ToolResult)}
        return tuple(step for step in self.steps if isinstance(step, ToolStarted) and step.key not in ended)

    def after(self, position: int, event: Event) -> RunRecord:
        """Return the record after one more event of the thread; one of another run changes nothing."""
        if isinstance(event, Deleting):
            return self if self.is_over else replace(self, last=position, is_deleted=True)
        if not isinstance(event, RunEvent) or event.run_id != self.accepted.run_id:
            return self
        return replace(self, last=position, **self._changes(event))

    def _changes(self, event: RunEvent) -> dict[str, Any]:
        if isinstance(event, Delta):
            return {"text": self.text[: event.offset] + event.text}
        if isinstance(event, Claimed):
            failures = self.failures + (event.failed is not None)
            return {"claim": event, "failures": failures, "text": self.text[: self.settled]}
        if isinstance(event, ModelResult):
            return {"steps": (*self.steps, event), "settled": len(self.text)}
        if isinstance(event, ToolStarted | ToolResult):
            return {"steps": (*self.steps, event)}
        if isinstance(event, CancelRequested):
            return {"cancelled": True}
        if isinstance(event, TERMINALS):
            return {"terminal": event}
        if isinstance(event, ApprovalAnswered):
            return {"answers": (*self.answers, event)}
        return {}


def run_record(run_id: str, events: Iterable[tuple[int, Event]]) -> RunRecord | None:
    """Return the run as the events of its thread tell it, from its `accepted` on; None when that is not among them."""
    record: RunRecord | None = None
    for position, event in events:
        if record is not None:
            record = record.after(position, event)
        elif isinstance(event, Accepted) and event.run_id == run_id:
            record = RunRecord(event, position, position)
    return record
