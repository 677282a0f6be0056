"""The conversation of a thread: the stored document, and the log's events after its position.

Theory. The document is a snapshot of the log: it names the position up to which the log has been applied to it. So a
conversation is a document and the events after it, in every process: the entity stores it, a run gets it, a reader sees
it. Ends stand in the log in the order in which runs were accepted, so applying them as they come gives each run its one
place. A run that was open when the conversation was reset leaves nothing in it.

Nothing here reads or writes. `resume` returns where to begin, `Snapshot.apply` continues.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_framework import Message
from msgspec import Struct
from msgspec.structs import replace

from hosting.core.thread import events, thread_events
from hosting.core.thread.head import Head
from hosting.core.thread.messages import (
    called_with,
    closing_message,
    framework_messages,
    open_requests,
    request_messages,
    run_messages,
)
from hosting.core.thread.put import with_put
from hosting.core.thread.run import keeps_words, stored_entry
from hosting.core.thread.run_request import Decision, UserMessage
from hosting.errors import UnreadableStateError
from hosting.ports import iso
from state.codec import read
from state.conversation import (
    append_turn,
    reset,
    response_of,
    up_to,
    with_end,
    with_generation,
    with_log_mark,
    with_session,
    without_pending,
)
from state.convert import request_entry
from state.errors import BadContentError
from state.extension import LogMark, Pause, host_of
from state.models import Conversation, RequestEntry, ResponseEntry
from state.put import held_puts
from state.standing import still_standing, with_giver, without_standing, without_strangers

logger = logging.getLogger(__name__)


class Opened(Struct, frozen=True):
    """A run that had not ended: its `accepted`, at position `first`, and the messages of runs that `joined` it."""

    first: int
    accepted: events.Accepted
    joined: tuple[UserMessage, ...] = ()


class Snapshot(Struct, frozen=True):
    """A conversation up to `position`, and the runs that were open there, by id and in order.

    Events are needed from after `since` on, where the first of those runs began. `merges`: the document did not name
    its position, which is where the newest of the runs that it holds ended; ends are applied in their order.
    `discards`: the stored document is of an earlier life of the thread and is no part of this.
    """

    conversation: Conversation
    position: int
    since: int
    open: Mapping[str, Opened]
    merges: bool = False
    discards: bool = False

    def apply(self, following: Iterable[tuple[int, events.Event]]) -> Snapshot:
        """Return the snapshot after these events, which are all of those after `since`, or after `position`.

        Those at or before `position` only show which runs are open.
        """
        following = list(following)
        conversation, last = self.conversation, self.position
        open_runs: dict[str, Opened] = dict(self.open)
        if self.merges:
            ends = ((position, event) for position, event in following if isinstance(event, events.TERMINALS))
            held = [position for position, event in ends if response_of(conversation, event.run_id) is not None]
            puts = held_puts(conversation)
            held += [at for at, event in following if isinstance(event, thread_events.MessagesPut) and event.id in puts]
            last = max(held, default=last)
        applied = last
        for position, event in following:
            is_new, last = position > applied, max(position, last)
            match event:
                case events.Accepted() | events.Joined():
                    _open_or_join(open_runs, position, event)
                case thread_events.Reset() | thread_events.Deleting():
                    open_runs.clear()
                    if is_new and isinstance(event, thread_events.Reset):
                        conversation = reset(conversation, f"reset-{position}")
                case thread_events.Rewound() if is_new:  # a run that was open then ends with nothing that is kept
                    session = still_standing(event.session, conversation)
                    conversation = as_left(up_to(conversation, event.entries), None, session)
                case events.ApprovalAnswered(decision=Decision(always=str())) if is_new:
                    conversation = _with_giver(conversation, event)
                case thread_events.Deleted() if is_new:
                    conversation = read(None)
                case thread_events.Imported() if is_new:
                    conversation = read(event.text)
                case (
                    thread_events.StandingWithdrawn() | thread_events.MessagesPut() | thread_events.SessionWritten()
                ) if is_new:
                    conversation = _written(conversation, event)
                case events.Completed() | events.Failed() | events.TimedOut() | events.Cancelled():
                    if (run := open_runs.pop(event.run_id, None)) is not None and is_new:
                        conversation = with_run(conversation, run.accepted, event, run.joined)
        since = min((run.first - 1 for run in open_runs.values()), default=last)
        return Snapshot(conversation, last, since, open_runs)

    def continued(self, following: Iterable[tuple[int, events.Event]], through: int) -> Snapshot | None:
        """Return the snapshot up to that position; None if one of the events before it is missing here."""
        newer = [(position, event) for position, event in following if self.position < position <= through]
        if len(newer) != through - self.position:
            return None
        return self.apply(newer)

    def document(self, epoch: int) -> Conversation:
        """Return the conversation as it is to be stored, with its position in that epoch of the log."""
        return with_log_mark(self.conversation, LogMark(epoch, self.position, self.since))


class DocumentBehind(Struct, frozen=True):
    """The document is older than the rest of the log: a newer one has been stored and must be read."""


class DocumentAhead(Struct, frozen=True):
    """The document names a position that the log does not have: only one of the two was restored."""

    mark: LogMark

    def refusal(self) -> UnreadableStateError:
        """Return why the thread cannot continue."""
        return UnreadableStateError(
            f"The stored conversation names position {self.mark.position} of epoch {self.mark.epoch}, which its log "
            "does not have: only one of the two was restored. Delete or reset the thread."
        )


def resume(stored: Conversation | None, head: Head) -> Snapshot | DocumentBehind | DocumentAhead:
    """Return the position after which a document continues with this head's log; None is a thread without a document.

    Without a mark of ours it continues after the newest run of the log that it holds. Without entries it was emptied by
    another program. That counts as a reset, and as one of now, since its time is unknown: ended runs are forgotten, and
    open runs stay; its archive begins another volume, since forks may refer to the last. A document of an older epoch
    counts as empty. A tombstone is forgotten only after its document, so a document ahead of its log was not left by
    that.
    """
    if stored is None:
        return _from(read(None), head.trimmed)
    mark = host_of(stored).log_mark
    if mark is None:
        if not stored.data.conversation_history.stored:
            since = min((run.first - 1 for run in head.runs), default=head.position)
            return Snapshot(with_generation(stored, head.position), head.position, since, {})
        return replace(_from(stored, head.trimmed), merges=True)
    if mark.epoch > head.epoch or mark.position > head.position:
        return DocumentAhead(mark)
    if mark.epoch < head.epoch:
        return replace(_from(read(None), head.trimmed), discards=True)
    return Snapshot(stored, mark.position, mark.since, {}) if mark.since >= head.trimmed else DocumentBehind()


def _open_or_join(open_runs: dict[str, Opened], position: int, event: events.Accepted | events.Joined) -> None:
    """Begin a run, or end one whose messages another run took."""
    if isinstance(event, events.Accepted):
        open_runs[event.run_id] = Opened(position, event)
        return
    open_runs.pop(event.run_id, None)
    if (run := open_runs.get(event.into)) is not None:
        open_runs[event.into] = replace(run, joined=(*run.joined, *event.messages))


def before_reset(stored: Conversation, head: Head) -> Snapshot:
    """Return from where a document that is ahead of its log continues: the log's newest reset, which forgets it."""
    return Snapshot(stored, head.reset_at - 1, head.trimmed, {})


def as_left(conversation: Conversation, pause: Pause | None, session: Mapping[str, Any] | None) -> Conversation:
    """Return a conversation that was cut behind a turn as that left it: with its session state and open calls.

    Without the `pause` of the last turn these can no longer be approved, and the next message closes them.
    """
    entries = conversation.data.conversation_history.stored
    run_id = entries[-1].correlation_id if entries else None
    ended = without_strangers(with_end(conversation, None, session))
    if run_id is None:
        return ended
    if pause is None or pause.run_id != run_id:
        pause = Pause(run_id, None, is_over=True)
    left = with_end(ended, pause, session)
    closing = closing_message(left)
    return left if closing is not None and closing.contents else ended


def _written(
    conversation: Conversation,
    event: thread_events.StandingWithdrawn | thread_events.MessagesPut | thread_events.SessionWritten,
) -> Conversation:
    """Return the conversation after a change that no run made."""
    match event:
        case thread_events.StandingWithdrawn():
            return without_standing(conversation, event.id)
        case thread_events.MessagesPut():
            return with_put(conversation, event)
        case thread_events.SessionWritten():
            return with_session(conversation, event.session)


def _with_giver(conversation: Conversation, event: events.ApprovalAnswered) -> Conversation:
    """Return the conversation with the person who decided, and when: the run that goes on adds the rule."""
    request, by = open_requests(conversation).get(event.decision.id), event.principal
    if request is None or request.function_call is None:
        return conversation
    author = None if by is None else {"issuer": by.issuer, "id": by.id, "name": by.name}
    call, has_arguments = called_with(request.function_call, event.decision), event.decision.always != "tool"
    return with_giver(conversation, call.to_dict(), has_arguments=has_arguments, by=author, at=iso(event.at))


def with_run(
    conversation: Conversation,
    accepted: events.Accepted,
    terminal: events.Terminal,
    joined: Sequence[UserMessage] = (),
) -> Conversation:
    """Return the conversation with another run, and the messages that `joined` it behind its own.

    It is unchanged if it has no room for the run's end.
    """
    response = stored_entry(terminal)
    if not isinstance(response, ResponseEntry):
        is_taken_back = isinstance(terminal, events.Cancelled) and accepted.request.decisions
        return without_pending(conversation) if is_taken_back else conversation
    is_interrupted = keeps_words(terminal)
    try:
        request = request_of(accepted, conversation, joined, closes=is_interrupted)
    except BadContentError:  # an older version took it; one entry makes no conversation unreadable
        logger.warning("The request of run %s cannot be read and is left out of its conversation.", accepted.run_id)
        return conversation
    principal = accepted.principal
    owner = (
        None if principal is None or accepted.grant is not None else {"issuer": principal.issuer, "id": principal.id}
    )
    if isinstance(terminal, events.Completed) and terminal.kept:
        pause = Pause(accepted.run_id, terminal.expires_at) if terminal.approvals else None
        session = terminal.session or {}
        return append_turn(conversation, request, response, pause=pause, session=session, owner=owner)
    pause = None if is_interrupted else host_of(conversation).pause  # a run that the model does not see closes no call
    if pause is not None and accepted.request.decisions:
        pause = replace(pause, is_over=True)
    return append_turn(conversation, request, response, pause=pause, owner=owner)


def request_of(
    accepted: events.Accepted, conversation: Conversation, joined: Sequence[UserMessage] = (), *, closes: bool = False
) -> RequestEntry:
    """Return the entry of a run's request to the conversation; where nothing waits in that, always the same one.

    The messages that `joined` the run stand behind its own. `closes`: after decisions it closes the calls that were
    decided on, because the run did not.
    """
    if host_of(conversation).pause is None and not accepted.request.decisions and not joined:
        return accepted.derived(_request_entry)
    messages = run_messages(accepted.request, conversation)
    closing = closing_message(conversation) if closes and accepted.request.decisions else None
    closed = [*messages, closing] if closing is not None else messages
    return _request_entry(accepted, [*closed, *framework_messages(joined)])


def _request_entry(accepted: events.Accepted, messages: Sequence[Message] | None = None) -> RequestEntry:
    response_format = accepted.request.response_format
    return request_entry(
        run_id=accepted.run_id,
        created_at=iso(accepted.at),
        messages=request_messages(accepted.request) if messages is None else messages,
        response_type="json" if response_format else "text",
        response_schema=response_format.json_schema if response_format else None,
        orchestration_id=accepted.request.orchestration_id,
    )


def _from(conversation: Conversation, position: int) -> Snapshot:
    return Snapshot(conversation, position, position, {})
