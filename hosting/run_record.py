"""What the log says of one run: the fold of its events, as a value that every decision is made on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hosting.events import (
    Accepted,
    ApprovalAnswered,
    CancelRequested,
    Claim,
    Delta,
    Event,
    Restarted,
    Signalled,
    Started,
    Step,
)
from hosting.thread.events import ModelResult, Terminal, ToolResult, ToolStarted


@dataclass(frozen=True)
class RunRecord:
    """One run as its log tells it. `position` is the number of its last event, counted from 1.

    `told` is that of the last event which tells of the run itself: of its terminal record, once there is one. `settled`
    is that of the last model answer which every later attempt is given again: deltas up to there stand.
    """

    accepted: Accepted
    position: int = 1
    told: int = 1
    settled: int = 0
    claim: Claim | None = None
    failures: int = 0
    signalled_at: float = 0.0
    cancel_requested: bool = False
    steps: tuple[Step, ...] = ()
    terminal: Terminal | None = None
    answers: tuple[ApprovalAnswered, ...] = ()

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.accepted.run_id

    @property
    def attempts(self) -> int:
        """How many claims there were."""
        return self.claim.attempt if self.claim else 0

    @property
    def deliveries(self) -> int:
        """How many claims were not made to retry a failure: the run's first, and one after each lost process."""
        return self.attempts - self.failures

    def is_held_by(self, token: str) -> bool:
        """Tell whether the holder of `token` may still append: its claim is the newest and the run has not ended."""
        return self.terminal is None and self.claim is not None and self.claim.token == token

    def with_event(self, event: Event) -> RunRecord:
        """Return the record after one more event."""
        position = self.position + 1
        moved = replace(self, position=position, told=position if self.terminal is None else self.told)
        if isinstance(event, Restarted):
            return replace(moved, claim=event, failures=moved.failures + (event.failed is not None))
        if isinstance(event, Started):
            return replace(moved, claim=event)
        if isinstance(event, Signalled):
            return replace(moved, signalled_at=event.at)
        if isinstance(event, CancelRequested):
            return replace(moved, cancel_requested=True)
        if isinstance(event, ModelResult):
            return replace(moved, steps=(*moved.steps, event), settled=moved.position)
        if isinstance(event, ToolStarted | ToolResult):
            return replace(moved, steps=(*moved.steps, event))
        if isinstance(event, ApprovalAnswered):
            return replace(moved, answers=(*moved.answers, event))
        if isinstance(event, Accepted | Delta):
            return moved
        return replace(moved, terminal=moved.terminal or event)


def fold(events: Iterable[Event]) -> RunRecord | None:
    """Return the record of a whole log, or None for an empty one. The first event must be `Accepted`."""
    record: RunRecord | None = None
    for event in events:
        if record is not None:
            record = record.with_event(event)
        elif isinstance(event, Accepted):
            record = RunRecord(accepted=event, signalled_at=event.at)
        else:
            raise ValueError(f"A run's log begins with {event.kind!r}: it must begin with 'accepted'.")
    return record
