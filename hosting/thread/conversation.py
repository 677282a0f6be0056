"""The conversation that a thread's log makes: the stored document, and what the log says behind its position.

Theory. The document is a snapshot of the log: it names the position up to which the log has been applied to it. So a
conversation is a document and the tail behind it, whoever needs it and wherever: the entity stores it, a run is given
it, a reader is shown it. Ends stand in the log in the order in which runs were accepted, so applying them as they come
gives each run its one place. A run that was open when the conversation was reset leaves nothing in it.

Nothing here reads or writes. `resume` says where to begin, `Snapshot.follow` goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hosting.errors import UnreadableStateError
from hosting.thread.endings import has_place, kept_entry
from hosting.thread.events import TERMINALS, Accepted, Completed, Deleted, Deleting, Event, Reset, Terminal
from hosting.thread.head import Head
from hosting.thread.messages import run_messages
from hosting.times import iso
from state.codec import read
from state.conversation import (
    LogMark,
    Pause,
    append_turn,
    forget,
    log_mark,
    pause_of,
    response_of,
    with_log_mark,
    with_pause,
    with_session_state,
)
from state.convert import request_entry
from state.models import Conversation, ResponseEntry
from state.summary import with_summary


@dataclass(frozen=True)
class Snapshot:
    """A conversation up to `position`, and the runs that were open there, by id and in order.

    Events are needed from behind `since` on, where the first of those runs began. `merges`: the document did not name
    its position, which is where the newest of the runs that it holds ended; ends are applied in their order.
    """

    conversation: Conversation
    position: int
    since: int
    open: Mapping[str, tuple[int, Accepted]]
    merges: bool = False

    def follow(self, events: Iterable[tuple[int, Event]]) -> Snapshot:
        """Return the snapshot behind these events, which are all of those behind `since`, or behind `position`.

        Those at or before `position` only say which runs are open.
        """
        events = list(events)
        conversation, open_runs = self.conversation, dict(self.open)
        position = applied = self._applied(events)
        for at, event in events:
            is_new, position = at > applied, max(at, position)
            if isinstance(event, Accepted):
                open_runs[event.run_id] = (at, event)
            elif isinstance(event, Reset | Deleting):
                open_runs.clear()
                if is_new and isinstance(event, Reset):
                    conversation = forget(conversation, f"reset-{at}")
            elif isinstance(event, Deleted) and is_new:
                conversation = read(None)
            elif isinstance(event, TERMINALS):
                _, accepted = open_runs.pop(event.run_id, (0, None))
                if accepted is not None and is_new:
                    conversation = with_run(conversation, accepted, event)
        since = min((first - 1 for first, _ in open_runs.values()), default=position)
        return Snapshot(conversation, position, since, open_runs)

    def document(self, epoch: int) -> Conversation:
        """Return the conversation as it is to be stored, with its position in that epoch of the log."""
        return with_log_mark(self.conversation, LogMark(epoch, self.position, self.since))

    def _applied(self, events: Iterable[tuple[int, Event]]) -> int:
        """Return the position up to which the conversation holds what these events say."""
        if not self.merges:
            return self.position
        ends = ((at, event) for at, event in events if isinstance(event, TERMINALS))
        held = (at for at, event in ends if response_of(self.conversation, event.run_id) is not None)
        return max(held, default=self.position)


@dataclass(frozen=True)
class Outdated:
    """The document is older than what is left of the log: a newer one has been stored meanwhile and is to be read."""


@dataclass(frozen=True)
class Ahead:
    """The document names a position that the log does not have: one of the two was restored without the other."""

    mark: LogMark

    def refusal(self) -> UnreadableStateError:
        """Return why the thread is not gone on with."""
        return UnreadableStateError(
            f"The stored conversation names position {self.mark.position} of epoch {self.mark.epoch}, which its log "
            "does not have: one of the two was restored without the other. Delete or reset the thread."
        )


def resume(stored: Conversation | None, head: Head) -> Snapshot | Outdated | Ahead:
    """Return from where a document goes on with the log whose head this is; None is a thread without a document.

    Without a mark of ours it goes on behind the newest run of the log that it holds; one without entries was emptied by
    somebody else, which counts as a reset. A document of an older epoch counts as empty. A tombstone is forgotten only
    after its document, so one that is ahead of its log was not left by that.
    """
    if stored is None:
        return _from(read(None), head.trimmed)
    mark = log_mark(stored)
    if mark is None:
        if not stored.data.conversation_history.held:
            return _from(stored, head.position)
        return replace(_from(stored, head.trimmed), merges=True)
    if mark.epoch > head.epoch or mark.position > head.position:
        return Ahead(mark)
    if mark.since >= head.trimmed:
        return Snapshot(stored, mark.position, mark.since, {})
    return _from(read(None), head.trimmed) if mark.epoch < head.epoch else Outdated()


def with_run(conversation: Conversation, accepted: Accepted, terminal: Terminal) -> Conversation:
    """Return the conversation with one more run; unchanged where it has no place for the run's end."""
    if not has_place(terminal):
        return conversation
    response = kept_entry(terminal)
    if not isinstance(response, ResponseEntry):
        return conversation
    wanted = accepted.request.response_format
    request = request_entry(
        run_id=accepted.run_id,
        created_at=iso(accepted.at),
        messages=run_messages(accepted.request, conversation),
        response_type="json" if wanted else "text",
        response_schema=wanted.json_schema if wanted else None,
        orchestration_id=accepted.request.orchestration_id,
    )
    grown = with_pause(append_turn(conversation, request, response), _pause_after(conversation, accepted, terminal))
    if isinstance(terminal, Completed) and terminal.kept:
        summed_up = grown if terminal.summary is None else with_summary(grown, terminal.summary)
        return with_session_state(summed_up, terminal.session)
    return grown


def _pause_after(conversation: Conversation, accepted: Accepted, terminal: Terminal) -> Pause | None:
    """Return what the conversation waits for after the run: a run that the model does not see changes no open call."""
    if isinstance(terminal, Completed) and terminal.kept:
        return Pause(accepted.run_id, terminal.expires_at) if terminal.approvals else None
    before = pause_of(conversation)
    return replace(before, is_over=True) if before is not None and accepted.request.decisions else before


def _from(conversation: Conversation, position: int) -> Snapshot:
    return Snapshot(conversation, position, position, {})
