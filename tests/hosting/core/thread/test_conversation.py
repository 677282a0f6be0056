"""The conversation of a thread: the stored document and what the log says behind its position."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.thread.commands import (
    AcceptRun,
    AnswerApproval,
    CancelRun,
    DeleteThread,
    EndRun,
    FinishDelete,
    ResetThread,
    TrimThread,
)
from hosting.core.thread.conversation import DocumentAhead, DocumentBehind, Snapshot, resume, with_run
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run_request import Decision, ResponseFormat, RunRequest
from hosting.principal import Principal
from state.codec import read, write
from state.conversation import exchanges, session_state, with_log_mark
from state.extension import LogMark, Pause, host_of
from state.models import Conversation, RequestEntry
from tests.hosting.core.thread.played import after, conversation_of, numbered, runs_of, spoken, stored, texts
from tests.support.threads import NOW, Thread, accept, accepted, answered, completed, end, terms

EMPTIED = '{"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}'


def turns(conversation: Conversation) -> list[str]:
    """Return the runs of the conversation; each has its request and its answer."""
    ids = runs_of(conversation)
    assert ids[::2] == ids[1::2]
    return ids[::2]


@pytest.mark.behaviour("thread.conversation")
def test_what_the_log_says_behind_the_document_is_applied_once() -> None:
    """Also where the run began before the document was stored, and behind another's end."""
    thread = spoken("r1")
    thread.do(accept("r2", claimed=True))
    thread.do(accept("r3"))
    document = stored(thread)
    thread.do(answered("r2", "Two", callers={"r3": terms("token-r3")}))
    thread.do(answered("r3", "Three"))

    assert host_of(document).log_mark == LogMark(epoch=0, position=6, since=3)
    assert turns(conversation_of(thread, document)) == ["r1", "r2", "r3"]
    assert texts(thread) == ["Hello from r1", "r1 says", "Hello from r2", "Two", "Hello from r3", "Three"]


@pytest.mark.behaviour("thread.conversation")
def test_a_run_without_an_answer_is_shown_and_not_sent_to_the_model() -> None:
    thread = spoken("r1")
    thread.do(accept("r2"))
    thread.do(CancelRun(NOW, "r2"))

    assert turns(conversation_of(thread)) == ["r1", "r2"]
    assert texts(thread) == ["Hello from r1", "r1 says"]


@pytest.mark.behaviour("thread.reset")
def test_a_run_accepted_before_a_reset_leaves_nothing_behind_it() -> None:
    """Whether it had ended or was still at work, and whenever the document was stored."""
    thread = spoken("r1")
    thread.do(accept("r2", claimed=True))
    thread.do(ResetThread(NOW))
    thread.do(answered("r2", "Late"))
    thread.do(accept("r3", claimed=True))
    thread.do(answered("r3", "Anew"))

    assert texts(thread) == ["Hello from r3", "Anew"]


@pytest.mark.behaviour("thread.delete")
def test_nothing_of_a_deleted_thread_comes_back() -> None:
    """A document of an older life counts as empty, whatever it holds."""
    thread = spoken("r1")
    old = stored(thread)
    thread.do(DeleteThread(NOW))
    deleting = stored(thread)
    thread.do(FinishDelete(NOW, {}))
    emptied = stored(thread)
    assert [turns(conversation_of(thread, document)) for document in (deleting, emptied)] == [[], []]
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Anew"))

    assert turns(deleting) == ["r1"]
    assert [turns(conversation_of(thread, document)) for document in (old, emptied, None)] == [["r2"]] * 3
    assert host_of(emptied).log_mark == LogMark(epoch=1, position=5, since=5)


@pytest.mark.behaviour("thread.document")
def test_a_document_without_a_mark_is_merged_by_the_ids_of_its_runs() -> None:
    """Another package wrote it and left ours out.

    A reset before its newest run is in it already, and takes nothing away of what came behind, by whomever it was said.
    """
    thread = spoken("r1")
    thread.do(ResetThread(NOW))
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Two"))
    document = with_run(conversation_of(thread), accepted("theirs"), answered("theirs", "Hi").terminal)
    thread.do(accept("r3", claimed=True))
    thread.do(answered("r3", "Three"))

    assert host_of(document).log_mark is None
    assert turns(conversation_of(thread, document)) == ["r2", "theirs", "r3"]


@pytest.mark.behaviour("thread.document")
def test_a_document_that_somebody_else_emptied_is_a_reset() -> None:
    """What they forgot does not come back; a run that was open keeps its place, for its caller is still there."""
    thread = spoken("r1")
    thread.do(accept("r2", claimed=True))
    thread.do(accept("r3"))
    begun = resume(read(EMPTIED), thread.head)
    assert isinstance(begun, Snapshot)
    assert turns(begun.apply(numbered(thread)[begun.since :]).conversation) == []
    document = read(write(begun.apply(numbered(thread)[begun.since :]).document(0)))
    thread.do(answered("r2", "Two", callers={"r3": terms("token-r3")}))
    thread.do(answered("r3", "Three"))

    assert turns(begun.apply(numbered(thread)[begun.since :]).conversation) == ["r2", "r3"]
    assert turns(conversation_of(thread, document)) == ["r2", "r3"]


@pytest.mark.behaviour("thread.document")
def test_a_document_behind_what_was_trimmed_is_to_be_read_again() -> None:
    thread = spoken("r1")
    old = stored(thread)
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Two"))
    newer = stored(thread)
    thread.do(TrimThread(NOW, 6))

    assert resume(old, thread.head) == DocumentBehind()
    assert turns(conversation_of(thread, newer)) == ["r1", "r2"]


@pytest.mark.behaviour("thread.document")
def test_a_document_ahead_of_its_log_is_named() -> None:
    thread = spoken("r1")
    thread.do(accept("r2", claimed=True))

    assert resume(stored(thread), spoken("r1").head) == DocumentAhead(LogMark(epoch=0, position=5, since=3))


@pytest.mark.behaviour("thread.document")
def test_a_mark_that_makes_no_sense_is_none() -> None:
    """Runs that began behind its position cannot have been open there; nothing between the two is passed over."""
    document = with_log_mark(stored(spoken("r1")), LogMark(epoch=0, position=2, since=100))

    assert turns(conversation_of(spoken("r1", "r2"), document)) == ["r1", "r2"]


@pytest.mark.behaviour("thread.conversation")
@pytest.mark.parametrize("entry", [{"$type": "response", "messages": 5}, {"$type": "response", "createdAt": []}])
def test_a_run_whose_response_cannot_be_read_is_shown_as_failed(entry: dict[str, Any]) -> None:
    """And the thread goes on: nobody could ever read its conversation otherwise."""
    thread = after(
        accept("r1", claimed=True),
        EndRun("token-r1", completed("r1").model_copy(update={"entry": entry})),
        accept("r2", claimed=True),
        answered("r2", "Two"),
    )

    assert turns(conversation_of(thread)) == ["r1", "r2"]
    assert texts(thread) == ["Hello from r2", "Two"]


@pytest.mark.behaviour("thread.conversation")
def test_what_is_no_turn_of_a_conversation_has_no_place() -> None:
    """A request of an older version, an end that is no response, and a run that was refused for waiting approvals."""
    request = accepted("r2").model_copy(update={"request": RunRequest(contents=({"$type": "of-another-version"},))})
    unheard, refused = spoken("r1"), after(accept("r1", claimed=True), accept("r2"), end("r1", "a1"))
    unheard.do(accept("r2", claimed=True))
    unheard.do(EndRun("token-r2", completed("r2").model_copy(update={"entry": {"$type": "unheard of"}})))
    before = conversation_of(spoken("r1"))

    assert with_run(before, request, completed("r2")) is before
    assert [turns(conversation_of(thread)) for thread in (unheard, refused)] == [["r1"], ["r1"]]


@pytest.mark.behaviour("thread.conversation")
def test_a_request_keeps_the_form_that_was_asked_for() -> None:
    wanted = ResponseFormat(json_schema={"type": "object"})
    request = RunRequest(message="Hello", response_format=wanted, orchestration_id="o1")
    thread = after(
        AcceptRun(accepted("r1").model_copy(update={"request": request}), 32, terms("token-r1")),
        answered("r1", "{}"),
        accept("r2", claimed=True),
        answered("r2", "Hi"),
    )

    requested = [entry for entry in exchanges(conversation_of(thread)) if isinstance(entry, RequestEntry)]

    assert [(entry.response_type, entry.response_schema, entry.orchestration_id) for entry in requested] == [
        ("json", {"type": "object"}, "o1"),
        ("text", None, None),
    ]


@pytest.mark.behaviour("thread.conversation")
def test_what_a_run_leaves_behind_is_left_by_its_answer_alone() -> None:
    """The framework session's state; an answer that is too large for a conversation leaves none."""
    thread = spoken("r1")
    sessions: list[object] = []
    for run_id, kept in (("r2", True), ("r3", False), ("r4", True)):
        members = {"session": {"of": run_id}, "kept": kept}
        thread.do(accept(run_id, claimed=True))
        thread.do(EndRun(f"token-{run_id}", answered(run_id, "Hi").terminal.model_copy(update=members)))
        sessions.append(session_state(conversation_of(thread)))

    assert sessions == [{"of": "r2"}, {"of": "r2"}, {"of": "r4"}]


@pytest.mark.behaviour("thread.approvals")
def test_the_conversation_waits_as_the_thread_does() -> None:
    """No more once a run went on; one that brought decisions and has no answer leaves calls that are closed."""
    asks, yes = (accept("r1", claimed=True), end("r1", "a1", expires_at=NOW + 60)), Decision(id="a1", approved=True)
    row, resumed = ApprovalRow(epoch=0, asked_by="r1"), accepted("r2", decisions=(yes,))
    refused = after(*asks, accept("r2", at=NOW + 60), CancelRun(NOW + 60, "r2"))
    decided = after(*asks, accept("r2", decisions=(yes,)), CancelRun(NOW, "r2"))
    gone_on = after(*asks, AnswerApproval(NOW, yes, row, resumed, terms("token-r2")), answered("r2", "Paid"))

    assert [host_of(conversation_of(thread)).pause for thread in (after(*asks), refused, decided, gone_on)] == [
        Pause("r1", NOW + 60),
        Pause("r1", NOW + 60),
        Pause("r1", NOW + 60, is_over=True),
        None,
    ]


@pytest.mark.behaviour("owners.told")
def test_a_conversation_names_the_owner_of_its_thread_and_nobody_else_who_asked() -> None:
    """Not somebody with whom it is shared, though theirs may be the first run that it holds."""
    ada, bob = (Principal("https://login.example", name) for name in ("ada", "bob"))
    shared = accepted("r1").model_copy(update={"principal": bob, "grant": "g"})
    own = accepted("r2").model_copy(update={"principal": ada})

    by_grant = with_run(conversation_of(Thread()), shared, answered("r1", "Hi").terminal)
    both = with_run(by_grant, own, answered("r2", "Hi").terminal)

    assert "owner" not in host_of(by_grant).members
    assert host_of(both).members["owner"] == {"issuer": "https://login.example", "id": "ada"}
