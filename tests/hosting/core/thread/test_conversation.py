"""The conversation of a thread: the stored document and what the log says behind its position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosting.core.thread.commands import (
    AcceptRun,
    AnswerApproval,
    CancelRun,
    ClaimRun,
    DeleteThread,
    EndRun,
    FinishDelete,
    RecordSteps,
    ResetThread,
    TrimThread,
)
from hosting.core.thread.conversation import DocumentAhead, DocumentBehind, Snapshot, resume, with_run
from hosting.core.thread.events import Event
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run_request import Decision, ResponseFormat, RunRequest
from hosting.principal import Principal
from state.codec import read, write
from state.conversation import exchanges, session_state, with_log_mark
from state.extension import LogMark, Pause, host_of
from state.models import Conversation, RequestEntry
from tests.support.seeds import repeated
from tests.support.state_documents import history_messages
from tests.support.threads import NOW, Thread, accept, accepted, answered, completed, end, model_result, terms


def numbered(thread: Thread, after: int = 0) -> list[tuple[int, Event]]:
    """Return a thread's events behind a position, with theirs."""
    return list(enumerate(thread.events, start=1))[after:]


def conversation_of(thread: Thread, stored: Conversation | None = None) -> Conversation:
    """Return the conversation that a document and the log behind it make."""
    begun = resume(stored, thread.head)
    assert isinstance(begun, Snapshot)
    return begun.apply(numbered(thread, begun.since)).conversation


def stored(thread: Thread) -> Conversation:
    """Return the document that the entity stores now, as it is read again."""
    begun = resume(None, thread.head)
    assert isinstance(begun, Snapshot)
    return read(write(begun.apply(numbered(thread)).document(thread.head.epoch)))


def turns(conversation: Conversation) -> list[str]:
    """Return the runs whose entries the conversation holds, in order, each with what was asked or answered."""
    return [entry.correlation_id for entry in exchanges(conversation)]


def texts(conversation: Conversation) -> list[str]:
    """Return the texts that the model sees."""
    return [message.text for message in history_messages(conversation)]


def after_one_run() -> Thread:
    """Return a thread with one answered run."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(answered("r1", "Hi"))
    return thread


@pytest.mark.behaviour("thread.conversation")
def test_a_run_that_ended_has_its_request_and_its_response() -> None:
    """Made of its two events."""
    assert texts(conversation_of(after_one_run())) == ["Hello from r1", "Hi"]


@pytest.mark.behaviour("thread.conversation")
def test_a_run_whose_request_cannot_be_read_has_no_place() -> None:
    """An older version took it; the conversation stays as it is, for one entry makes none unreadable."""
    before = conversation_of(after_one_run())
    request = RunRequest(contents=({"$type": "of-another-version"},))

    assert with_run(before, accepted("r2").model_copy(update={"request": request}), completed("r2")) is before


@pytest.mark.behaviour("thread.conversation")
def test_a_document_names_its_position_and_its_epoch() -> None:
    """Where other packages keep it."""
    document = stored(after_one_run())

    assert host_of(document).log_mark == LogMark(epoch=0, position=3, since=3)
    assert document.data.extension_data is not None


@pytest.mark.behaviour("thread.conversation")
def test_what_the_log_says_behind_the_document_is_applied_once() -> None:
    """Also where the run began before the document was stored, and behind another's end."""
    thread = after_one_run()
    thread.do(accept("r2", claimed=True))
    thread.do(accept("r3"))
    document = stored(thread)
    thread.do(answered("r2", "Two", callers={"r3": terms("token-r3")}))
    thread.do(answered("r3", "Three"))

    assert host_of(document).log_mark == LogMark(epoch=0, position=6, since=3)
    assert turns(conversation_of(thread, document)) == ["r1", "r1", "r2", "r2", "r3", "r3"]


@pytest.mark.behaviour("thread.conversation")
def test_a_run_without_an_answer_is_shown_and_not_sent_to_the_model() -> None:
    """It leaves nothing for the model."""
    thread = after_one_run()
    thread.do(accept("r2"))
    thread.do(CancelRun(NOW, "r2"))

    conversation = conversation_of(thread)

    assert turns(conversation) == ["r1", "r1", "r2", "r2"]
    assert texts(conversation) == ["Hello from r1", "Hi"]


@pytest.mark.behaviour("thread.reset")
def test_a_run_accepted_before_a_reset_leaves_nothing_behind_it() -> None:
    """Whether it had ended or was still at work."""
    thread = after_one_run()
    thread.do(accept("r2", claimed=True))
    before = stored(thread)
    thread.do(ResetThread(NOW))
    between = stored(thread)
    thread.do(answered("r2", "Late"))
    thread.do(accept("r3", claimed=True))
    thread.do(answered("r3", "Anew"))

    for document in (None, before, between):
        assert texts(conversation_of(thread, document)) == ["Hello from r3", "Anew"]


@pytest.mark.behaviour("thread.delete")
def test_nothing_of_a_deleted_thread_comes_back() -> None:
    """A document of an older epoch counts as empty, whatever it holds."""
    thread = after_one_run()
    old = stored(thread)
    thread.do(DeleteThread(NOW))
    thread.do(FinishDelete(NOW, {}))
    emptied = stored(thread)
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Anew"))

    for document in (old, emptied, None):
        assert texts(conversation_of(thread, document)) == ["Hello from r2", "Anew"]
    assert host_of(emptied).log_mark == LogMark(epoch=1, position=5, since=5)


@pytest.mark.behaviour("thread.document")
def test_a_document_without_a_mark_is_merged_by_the_ids_of_its_runs() -> None:
    """Another package may have written it, and left ours out."""
    thread = after_one_run()
    document = read(write(conversation_of(thread)))
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Two"))

    assert host_of(document).log_mark is None
    assert turns(conversation_of(thread, document)) == ["r1", "r1", "r2", "r2"]


@pytest.mark.behaviour("thread.document")
def test_a_document_without_a_mark_stands_where_the_newest_of_its_runs_ended() -> None:
    """A reset before that is in it already, and takes nothing away of what came behind, by whomever it was said."""
    thread = after_one_run()
    thread.do(ResetThread(NOW))
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Two"))
    document = with_run(conversation_of(thread), accepted("theirs"), answered("theirs", "Hi").terminal)
    thread.do(accept("r3", claimed=True))
    thread.do(answered("r3", "Three"))

    assert host_of(document).log_mark is None
    assert turns(conversation_of(thread, document)) == ["r2", "r2", "theirs", "theirs", "r3", "r3"]


@pytest.mark.behaviour("thread.delete")
def test_a_document_of_a_thread_that_is_being_deleted_is_emptied_by_the_tombstone() -> None:
    """Also where it names the position right before that."""
    thread = after_one_run()
    thread.do(DeleteThread(NOW))
    document = stored(thread)
    thread.do(FinishDelete(NOW, {}))

    assert turns(document) == ["r1", "r1"]
    assert turns(conversation_of(thread, document)) == []


@pytest.mark.behaviour("thread.document")
def test_a_document_that_somebody_else_emptied_is_a_reset() -> None:
    """What they forgot does not come back out of the log."""
    thread = after_one_run()

    assert turns(conversation_of(thread, read('{"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}'))) == []


@pytest.mark.behaviour("thread.document")
def test_a_run_that_was_open_when_an_emptied_document_was_met_keeps_its_place() -> None:
    """Nobody knows when it was emptied, and its caller is still there."""
    thread = after_one_run()
    thread.do(accept("r2", claimed=True))
    thread.do(accept("r3"))
    begun = resume(read('{"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}'), thread.head)
    assert isinstance(begun, Snapshot)
    document = read(write(begun.apply(numbered(thread, begun.since)).document(0)))
    thread.do(answered("r2", "Two", callers={"r3": terms("token-r3")}))
    thread.do(answered("r3", "Three"))

    assert turns(begun.apply(numbered(thread, begun.since)).conversation) == ["r2", "r2", "r3", "r3"]
    assert turns(conversation_of(thread, document)) == ["r2", "r2", "r3", "r3"]


@pytest.mark.behaviour("thread.document")
def test_a_document_behind_what_was_trimmed_is_to_be_read_again() -> None:
    """Nothing is trimmed before a newer one is stored."""
    thread = after_one_run()
    old = stored(thread)
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Two"))
    newer = stored(thread)
    thread.do(TrimThread(NOW, 6))

    assert resume(old, thread.head) == DocumentBehind()
    assert turns(conversation_of(thread, newer)) == ["r1", "r1", "r2", "r2"]


@pytest.mark.behaviour("thread.document")
def test_a_document_ahead_of_its_log_is_named() -> None:
    """One of the two was restored without the other."""
    thread = after_one_run()
    thread.do(accept("r2", claimed=True))
    document = stored(thread)

    assert resume(document, after_one_run().head) == DocumentAhead(LogMark(epoch=0, position=5, since=3))


@pytest.mark.behaviour("thread.document")
def test_a_mark_that_makes_no_sense_is_none() -> None:
    """Runs that began behind its position cannot have been open there; nothing between the two is passed over."""
    thread = after_one_run()
    document = with_log_mark(stored(thread), LogMark(epoch=0, position=2, since=100))
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Two"))

    assert turns(conversation_of(thread, document)) == ["r1", "r1", "r2", "r2"]


@pytest.mark.behaviour("thread.conversation")
@pytest.mark.parametrize("entry", [{"$type": "response", "messages": 5}, {"$type": "response", "createdAt": []}])
def test_a_run_whose_response_cannot_be_read_is_shown_as_failed(entry: dict[str, Any]) -> None:
    """And the thread goes on: nobody could ever read its conversation otherwise."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(EndRun("token-r1", completed("r1").model_copy(update={"entry": entry})))
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Two"))

    conversation = conversation_of(thread)

    assert turns(conversation) == ["r1", "r1", "r2", "r2"]
    assert texts(conversation) == ["Hello from r2", "Two"]


@pytest.mark.behaviour("thread.conversation")
def test_an_end_that_is_no_response_has_no_place() -> None:
    """What it was is in the log."""
    thread = after_one_run()
    thread.do(accept("r2", claimed=True))
    thread.do(EndRun("token-r2", completed("r2").model_copy(update={"entry": {"$type": "unheard of"}})))

    assert turns(conversation_of(thread)) == ["r1", "r1"]


@pytest.mark.behaviour("thread.conversation")
def test_a_run_that_was_refused_for_waiting_approvals_has_no_place() -> None:
    """As one that is refused at the door."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))
    thread.do(end("r1", "a1"))

    assert turns(conversation_of(thread)) == ["r1", "r1"]


@pytest.mark.behaviour("thread.conversation")
def test_a_request_keeps_the_form_that_was_asked_for() -> None:
    """And by whom."""
    wanted = ResponseFormat(json_schema={"type": "object"})
    request = RunRequest(message="Hello", response_format=wanted, orchestration_id="o1")
    thread = Thread()
    thread.do(AcceptRun(accepted("r1").model_copy(update={"request": request}), 32, terms("token-r1")))
    thread.do(answered("r1", "{}"))
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "Hi"))

    requested = [entry for entry in exchanges(conversation_of(thread)) if isinstance(entry, RequestEntry)]

    assert [(entry.response_type, entry.response_schema, entry.orchestration_id) for entry in requested] == [
        ("json", {"type": "object"}, "o1"),
        ("text", None, None),
    ]


@pytest.mark.behaviour("thread.conversation")
def test_what_a_run_leaves_behind_is_left_by_its_answer_alone() -> None:
    """The framework session's state; an answer that is too large for a conversation leaves none."""
    thread = after_one_run()
    sessions: list[object] = []
    for run_id, kept in (("r2", True), ("r3", False), ("r4", True)):
        members = {"session": {"of": run_id}, "kept": kept}
        thread.do(accept(run_id, claimed=True))
        thread.do(EndRun(f"token-{run_id}", answered(run_id, "Hi").terminal.model_copy(update=members)))
        sessions.append(session_state(conversation_of(thread)))

    assert sessions == [{"of": "r2"}, {"of": "r2"}, {"of": "r4"}]


@pytest.mark.behaviour("thread.conversation")
def test_a_conversation_that_is_followed_event_by_event_is_the_same() -> None:
    """Whoever reads a log as it grows has what one has who reads it at once."""
    thread = after_one_run()
    for run_id in ("r2", "r3"):
        thread.do(accept(run_id, claimed=True))
    thread.do(answered("r2", "Two", callers={"r3": terms("token-r3")}))
    thread.do(ResetThread(NOW))
    thread.do(accept("r4"))
    thread.do(answered("r3", "Three", callers={"r4": terms("token-r4")}))
    thread.do(answered("r4", "Four"))
    begun = resume(None, thread.head)
    assert isinstance(begun, Snapshot)

    grown = begun
    for event in numbered(thread):
        grown = grown.apply([event])

    assert write(grown.document(0)) == write(begun.apply(numbered(thread)).document(0))
    assert texts(grown.conversation) == ["Hello from r4", "Four"]


@pytest.mark.behaviour("thread.approvals")
def test_a_conversation_whose_calls_were_decided_and_not_answered_waits_for_nobody() -> None:
    """The run that went on ended without an answer; one that was refused by it changes nothing."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", "a1", expires_at=NOW + 60))
    thread.do(accept("r2", at=NOW + 60))
    thread.do(CancelRun(NOW + 60, "r2"))
    before = host_of(conversation_of(thread)).pause
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", "a1", expires_at=NOW + 60))
    thread.do(accept("r2", decisions=(Decision(id="a1", approved=True),)))
    thread.do(CancelRun(NOW, "r2"))

    assert before == Pause("r1", NOW + 60)
    assert host_of(conversation_of(thread)).pause == Pause("r1", NOW + 60, is_over=True)


@pytest.mark.behaviour("thread.approvals")
def test_the_conversation_waits_as_the_thread_does() -> None:
    """And no more once the run went on."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", "a1"))
    waits = host_of(conversation_of(thread)).pause
    yes = Decision(id="a1", approved=True)
    row = ApprovalRow(epoch=0, asked_by="r1")
    thread.do(AnswerApproval(NOW, yes, row, accepted("r2", decisions=(yes,)), terms("token-r2")))
    thread.do(answered("r2", "Paid"))

    assert waits is not None
    assert waits.run_id == "r1"
    assert host_of(conversation_of(thread)).pause is None


@pytest.mark.slow
@pytest.mark.behaviour("thread.conversation")
@given(st.lists(st.sampled_from(["accept", "answer", "step", "cancel", "reset", "delete"]), max_size=25), st.data())
@settings(max_examples=repeated(200, exploring=2000))
def test_wherever_the_document_was_stored_the_conversation_is_the_same(
    steps: Sequence[str], data: st.DataObject
) -> None:
    """A process that dies between any two events leaves a document that the log goes on from."""
    thread = Thread()
    documents: list[Conversation | None] = [None]
    for number, step in enumerate(steps):
        play(thread, step, f"r{number}")
        if data.draw(st.booleans()):
            at = data.draw(st.sampled_from(documents))
            begun = resume(at, thread.head)
            assert isinstance(begun, Snapshot)
            documents.append(read(write(begun.apply(numbered(thread, begun.since)).document(thread.head.epoch))))

    conversations = [turns(conversation_of(thread, document)) for document in documents]

    assert all(found == conversations[0] for found in conversations)


def play(thread: Thread, step: str, run_id: str) -> None:
    """Have something happen, as far as it can just now."""
    turn = thread.head.next_run
    if step == "accept":
        thread.do(accept(run_id))
    elif step in ("answer", "step") and turn is not None:
        if thread.head.claim is None:
            thread.do(ClaimRun(NOW, terms(f"token-{turn.id}")))
        token = f"token-{turn.id}"
        thread.do(
            answered(turn.id, f"Answer of {turn.id}")
            if step == "answer"
            else RecordSteps(token, (model_result(turn.id),))
        )
    elif step == "cancel" and thread.head.runs:
        thread.do(CancelRun(NOW, thread.head.runs[-1].id))
    elif step == "reset":
        thread.do(ResetThread(NOW))
    elif step == "delete":
        thread.do(DeleteThread(NOW))
        thread.do(FinishDelete(NOW, {}))


@pytest.mark.behaviour("owners.told")
def test_a_conversation_names_the_owner_of_its_thread_and_nobody_else_who_asked() -> None:
    """Not somebody with whom it is shared, though theirs may be the first run that it holds."""
    ada, bob = (Principal("https://login.example", name) for name in ("ada", "bob"))
    empty = conversation_of(Thread())
    shared = accepted("r1").model_copy(update={"principal": bob, "grant": "g"})
    own = accepted("r2").model_copy(update={"principal": ada})

    by_grant = with_run(empty, shared, answered("r1", "Hi").terminal)
    both = with_run(by_grant, own, answered("r2", "Hi").terminal)

    assert "owner" not in host_of(by_grant).members
    assert host_of(both).members["owner"] == {"issuer": "https://login.example", "id": "ada"}
