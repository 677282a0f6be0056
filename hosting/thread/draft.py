"""An append while it is made: its events and rows, and the head as it would be behind them."""

from __future__ import annotations

from hosting.errors import ApprovalsPendingError, HostingError, RunCancelledError, RunLostError
from hosting.thread.commands import Change, Terms
from hosting.thread.endings import unanswered
from hosting.thread.events import Accepted, Claimed, Event, Terminal
from hosting.thread.head import Head, OpenRun, fold
from hosting.thread.rows import MOST_ROWS, RowChange, RunRow, run_name


class Draft:
    """What one append will write. Each method adds to it and returns it."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._events: list[Event] = []
        self._rows: list[RowChange] = []

    def add(self, *events: Event) -> Draft:
        """Append events."""
        self._events += events
        self.head = fold(self.head, events)
        return self

    def row(self, change: RowChange) -> Draft:
        """Write a row beside them."""
        self._rows.append(change)
        return self

    def accept(self, accepted: Accepted) -> Draft:
        """Begin a run, with its row."""
        self.add(accepted)
        row = RunRow(epoch=self.head.epoch, first=self.head.position)
        return self.row(RowChange(run_name(accepted.run_id), self.head.position, row))

    def claim(self, at: float, terms: Terms) -> Draft:
        """Have the run whose turn it is claimed on these terms."""
        run = self.head.runs[0]
        return self.add(
            Claimed(
                at=at,
                run_id=run.id,
                attempt=run.attempts + 1,
                token=terms.token,
                holder=terms.holder,
                lease_seconds=terms.lease_seconds,
                deadline=terms.deadline,
                void_after=run.settled,
            )
        )

    def end(self, terminal: Terminal) -> Draft:
        """End the run whose turn it is, and say so in its row."""
        run = self.head.runs[0]
        self.add(terminal)
        row = RunRow(epoch=self.head.epoch, first=run.first, last=self.head.position)
        return self.row(RowChange(run_name(run.id), run.first, row, is_new=False))

    def end_in_turn(self, at: float) -> Draft:
        """End the runs that come first now and may not be claimed, as many of them as one append takes."""
        while self.head.claim is None and (run := self.head.turn) and (reason := never_claimed(run)):
            if len(self._rows) == MOST_ROWS:
                break
            self.end(unanswered(run.id, at, reason))
        return self

    def change(self, run_id: str = "", *, signal: bool = False) -> Change:
        """Return all of it."""
        return Change(self.head, tuple(self._events), tuple(self._rows), run_id, signal)


def never_claimed(run: OpenRun) -> HostingError | None:
    """Return why a run whose turn it is ends without its agent, or None when it may be claimed."""
    if run.cancelled == "asked":
        return RunCancelledError("The run was cancelled.")
    if run.cancelled == "queue_time":
        return RunLostError("The run waited for its turn for longer than it may.")
    if run.barred:
        return pending_approvals()
    return None


def pending_approvals() -> ApprovalsPendingError:
    return ApprovalsPendingError(
        "The thread waits for approvals and takes messages again when all are answered. "
        "GET .../approvals lists them; POST .../approvals/<id> answers one."
    )
