"""Reset, deletion and trimming: what a thread forgets, and what it keeps."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hosting.core.thread.commands import (
    AttachToRun,
    CancelRun,
    Change,
    Command,
    Continuation,
    DeleteThread,
    DescribeThread,
    FinishDelete,
    ImportThread,
    PutMessages,
    RecordInstances,
    ResetThread,
    TrimThread,
    Unchanged,
    WriteSession,
)
from hosting.core.thread.head import Head
from hosting.core.thread.rows import DeletedRow, KeyRow, RunRow
from hosting.core.thread.run_request import InstanceOutcome, UserMessage
from hosting.core.thread.sources import AssignedSource
from hosting.core.thread.thread_events import MessagesPut, Rewound
from hosting.errors import (
    ApprovalsPendingError,
    HostingError,
    IdempotencyKeyReusedError,
    RunNotNewestError,
    ThreadBusyError,
    ThreadChangedError,
    ThreadDeletedError,
    ThreadDeletingError,
)
from hosting.principal import Principal
from state.conversation import session_state
from state.put import Put, put_of
from tests.hosting.core.thread.played import after, conversations, spoken, texts
from tests.support.threads import NOW, Thread, accept, answered, completed, end, refusal

HELD = accept("r1", claimed=True)


def tombstone() -> Thread:
    """Return a thread that was deleted while one run was open."""
    return after(HELD, DeleteThread(NOW), FinishDelete(NOW, {"runs": 1}))


@pytest.mark.behaviour("thread.reset")
def test_a_reset_is_an_event_and_a_signal() -> None:
    """The entity empties the document when it comes by; the log says so at once. What is deleted has none."""
    thread = after(accept("r1"))

    outcome = thread.do(ResetThread(NOW))

    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.signal) == ([("reset", "")], True)
    assert (thread.head.resets, thread.head.reset_at, thread.head.title) == (1, 2, "")
    assert refusal(after(DeleteThread(NOW)).do(ResetThread(NOW))) is ThreadDeletingError
    assert tombstone().do(ResetThread(NOW)) == Unchanged()


@pytest.mark.behaviour("thread.temporary")
def test_a_temporary_thread_takes_no_second_run() -> None:
    """It is to go; the one that it has is found again, and the thread's next life is like any other."""
    thread = after(accept("r1", claimed=True, temporary=True))
    again = thread.do(accept("r1", known=RunRow(epoch=0, first=1)))
    second = thread.do(accept("r2"))
    thread.do(end("r1"))
    late = thread.do(accept("r2"))
    for command in (DeleteThread(NOW, position=thread.head.position), FinishDelete(NOW, {})):
        thread.do(command)

    assert [refusal(each) for each in (again, second, late)] == [None, ThreadDeletingError, ThreadDeletingError]
    assert isinstance(thread.do(accept("r2")), Change)
    assert thread.head.temporary is False


@pytest.mark.behaviour("thread.metadata")
def test_metadata_that_was_read_is_replaced_only_while_it_is_there() -> None:
    """Of two that read it at once and write, the second is refused and reads again. No trimming takes it."""
    thread = after(DescribeThread(NOW, 0, {"title": "A"}, described=0))
    late = thread.do(DescribeThread(NOW, 0, {"pinned": "true"}, described=0))
    again = thread.do(DescribeThread(NOW, 0, {"title": "A", "pinned": "true"}, described=1))
    thread.do(ResetThread(NOW))
    thread.do(TrimThread(NOW, 3))

    assert refusal(late) is ThreadChangedError
    assert isinstance(again, Change)
    assert (again.head.name, again.head.pinned) == ("A", True)
    assert (thread.head.trimmed, thread.head.metadata) == (3, {"title": "A", "pinned": "true"})


@pytest.mark.behaviour("thread.metadata")
def test_metadata_is_of_one_life_of_a_thread() -> None:
    """A thread may begin with it; it is refused while that is deleted, and for a life that is over."""
    thread = Thread()
    outcome = thread.do(DescribeThread(NOW, 0, {"for": "a test"}))
    thread.do(DeleteThread(NOW))
    deleting = thread.do(DescribeThread(NOW, 0, {}))
    thread.do(FinishDelete(NOW, {}))
    deleted = thread.do(DescribeThread(NOW, 1, {}))
    thread.do(accept("r1"))
    late = thread.do(DescribeThread(NOW, 0, {}))

    assert isinstance(outcome, Change)
    assert (outcome.head.described, outcome.signal, thread.head.described) == (1, True, 0)
    assert [refusal(each) for each in (deleting, deleted, late)] == [
        ThreadDeletingError,
        ThreadDeletedError,
        ThreadDeletedError,
    ]


@pytest.mark.behaviour("thread.metadata")
def test_an_import_brings_metadata_too() -> None:
    """In one append, which is repeatable for as long as nothing came after it."""
    thread = Thread()
    bring = ImportThread(NOW, "{}", AssignedSource("another", 0, 1), 0, {"for": "a test"})
    outcomes = [thread.do(bring), thread.do(bring), thread.do(accept("r1")), thread.do(bring)]

    assert [refusal(each) for each in outcomes] == [None, None, None, ThreadChangedError]
    assert (thread.kinds(), thread.head.described) == (["imported", "described"] * 2 + ["accepted"], 4)


@pytest.mark.behaviour("thread.delete")
def test_a_deletion_ends_all_open_runs() -> None:
    """With the event that begins it; one of what was read takes nothing that came since."""
    thread = after(HELD, accept("r2"))

    late = thread.do(DeleteThread(NOW, position=thread.head.position - 1))
    outcome = thread.do(DeleteThread(NOW + 1, position=thread.head.position))

    assert late == Unchanged()
    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.signal) == ([("deleting", "")], True)
    assert (thread.head.waiting, thread.head.changed_at) == (None, NOW + 1)
    assert (thread.head.state, thread.head.runs, thread.head.claim) == ("deleting", (), None)


@pytest.mark.behaviour("thread.delete")
def test_a_tombstone_has_a_new_epoch_and_nothing_else() -> None:
    """It wins over any document, signal or copy of an older one; its receipt stands in its event."""
    thread = tombstone()

    assert thread.head == Head(append_id="append-4", epoch=1, position=4, trimmed=3, state="deleted", changed_at=NOW)
    assert thread.events[-1].receipt == {"runs": 1}  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.delete")
@pytest.mark.parametrize("command", [DeleteThread(NOW), FinishDelete(NOW, {})], ids=["deleted", "buried"])
def test_a_thread_is_deleted_once(command: Command) -> None:
    """Again it changes nothing, and asks for no signal; nor does a burial that comes late in a later life."""
    assert tombstone().do(command) == Unchanged()

    thread = tombstone()
    thread.do(accept("r2"))
    assert thread.do(FinishDelete(NOW, {})) == Unchanged()
    assert thread.head.state == "open"


@pytest.mark.behaviour("thread.delete")
def test_whoever_meets_a_deletion_signals_too() -> None:
    """Whoever began it may have died before its signal."""
    thread = after(accept("r1"), DeleteThread(NOW))

    assert thread.do(DeleteThread(NOW)) == Unchanged(signal=True)
    for command in (AttachToRun(NOW, "r1"), CancelRun(NOW, "r1")):
        assert thread.do(command) == Unchanged("r1", signal=True)


@pytest.mark.behaviour("thread.delete")
def test_a_thread_whose_time_is_up_is_kept_while_a_run_is_open() -> None:
    thread = after(HELD)

    assert thread.do(DeleteThread(NOW, "expired")) == Unchanged()
    thread.do(end("r1"))
    assert thread.do(DeleteThread(NOW, "expired", position=2)) == Unchanged()
    thread.do(DeleteThread(NOW, "expired", position=3))
    assert thread.last(1) == [("deleting", "")]


@pytest.mark.behaviour("thread.delete")
def test_what_became_of_instances_stands_behind_the_tombstone_and_moves_nothing_else() -> None:
    thread = tombstone()
    before = thread.head
    instances = (InstanceOutcome(id="o1", outcome="deleted"),)

    thread.do(RecordInstances(NOW, 1, instances))

    assert thread.last(1) == [("settled", "")]
    assert thread.head == before.model_copy(update={"append_id": "append-5", "position": 5})
    thread.do(accept("r2"))
    assert thread.do(RecordInstances(NOW, 1, instances)) == Unchanged()


@pytest.mark.behaviour("thread.trim")
def test_what_a_document_holds_may_be_trimmed_and_nothing_that_is_needed() -> None:
    """The head says so first. An open run begins with its request, and a run goes on from the one that asked."""
    thread, asks = after(HELD, end("r1"), TrimThread(NOW, 3)), after(HELD, end("r1", "a1"))

    assert (thread.kinds()[-1], thread.head.trimmed) == ("trimmed", 3)
    assert thread.do(TrimThread(NOW, 3)) == Unchanged()
    assert after(HELD, accept("r2"), end("r1"), TrimThread(NOW, 4)).head.trimmed == 2
    assert asks.do(TrimThread(NOW, 3)) == Unchanged()


ADA = Principal("https://login.example", "ada", "Ada")
SESSION = {"type": "session", "session_id": "s", "state": {"todo": {"items": [1]}}}


def put(name: str = "p1", *texts: str, at: float = NOW, **members: Any) -> PutMessages:
    """Return the command that puts in messages, by turns of a user and the agent."""
    roles = ("user", "assistant")
    said = texts or (f"{name} asks", f"{name} answers")
    messages = tuple(UserMessage(message=text, role=roles[number % 2]) for number, text in enumerate(said))
    return PutMessages(MessagesPut(at=at, id=name, messages=messages, principal=ADA), "f", **members)


def written(thread: Thread, session: dict[str, Any] | None = SESSION) -> WriteSession:
    """Return the command that writes a session for the thread as it is."""
    return WriteSession(NOW, thread.head.position, session)


@pytest.mark.behaviour("thread.put")
def test_messages_stand_between_the_runs_to_every_reader() -> None:
    """They are in no run, and each entry has who put it in."""
    thread = spoken("r1")

    outcome = thread.do(put())
    thread.do(accept("r2", claimed=True))
    thread.do(answered("r2", "r2 says"))

    assert isinstance(outcome, Change)
    assert (outcome.run_id, outcome.signal) == ("p1", True)
    assert texts(thread) == ["Hello from r1", "r1 says", "p1 asks", "p1 answers", "Hello from r2", "r2 says"]
    marks = [put_of(entry) for entry in conversations(thread)[0].data.conversation_history]
    by_ada = Put("p1", {"issuer": ADA.issuer, "id": "ada", "name": "Ada"})
    assert marks == [None, None, by_ada, by_ada, None, None]


@pytest.mark.behaviour("thread.put")
def test_a_key_finds_its_messages() -> None:
    """With other messages it is refused, and after a deletion it is gone."""
    thread = after(put(key="k"))
    row = KeyRow(epoch=0, run_id="p1", fingerprint="f")

    again = thread.do(put("p2", key="k", row=row))
    other = thread.do(put("p2", key="k", row=row.model_copy(update={"fingerprint": "g"})))
    gone = thread.do(put("p2", key="k", row=DeletedRow(epoch=0)))

    assert again == Unchanged("p1")
    assert [refusal(outcome) for outcome in (other, gone)] == [IdempotencyKeyReusedError, ThreadDeletedError]
    assert thread.kinds() == ["messages_put"]


TEMPORARY = accept("r1", claimed=True, temporary=True)


@pytest.mark.behaviour("thread.put")
@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ((accept("r1", claimed=True),), ThreadBusyError),
        ((accept("r1"),), ThreadBusyError),
        ((DeleteThread(NOW),), ThreadDeletingError),
        ((TEMPORARY, end("r1")), ThreadDeletingError),
    ],
    ids=["works", "queued", "deleting", "temporary"],
)
def test_nothing_is_written_into_a_thread_that_is_not_idle(
    before: tuple[Command, ...], reason: type[HostingError]
) -> None:
    thread = after(*before)
    kinds = thread.kinds()

    outcomes = [thread.do(put()), thread.do(written(thread))]

    assert [refusal(outcome) for outcome in outcomes] == [reason] * 2
    assert thread.kinds() == kinds


@pytest.mark.behaviour("thread.put")
def test_calls_that_wait_keep_messages_out_until_their_time_has_passed() -> None:
    thread = after(
        accept("r1", claimed=True),
        replace(end("r1"), terminal=end("r1", "a1").terminal.model_copy(update={"expires_at": NOW + 10})),
    )

    early = thread.do(put())
    session = thread.do(written(thread))
    late = thread.do(put(at=NOW + 11))

    assert refusal(early) is ApprovalsPendingError
    assert isinstance(session, Change)
    assert isinstance(late, Change)
    assert thread.head.waiting is None


@pytest.mark.behaviour("thread.put")
def test_a_session_is_written_as_the_caller_saw_the_thread_or_not_at_all() -> None:
    """Every reader has it then, and the end of the next run replaces it."""
    thread = spoken("r1")
    late = written(thread)
    thread.do(written(thread, {**SESSION, "state": {"todo": {}}}))

    refused = thread.do(late)
    thread.do(written(thread))

    assert refusal(refused) is ThreadChangedError
    assert [session_state(conversation) for conversation in conversations(thread)] == [SESSION] * len(
        conversations(thread)
    )
    thread.do(accept("r2", claimed=True))
    thread.do(replace(end("r2"), terminal=completed("r2", session={**SESSION, "session_id": "t"})))
    assert {str(session_state(conversation)) for conversation in conversations(thread)} == {
        str({**SESSION, "session_id": "t"})
    }


@pytest.mark.behaviour("thread.put")
def test_a_run_that_goes_on_from_before_messages_takes_them_back() -> None:
    """And a run whose caller had not seen them is refused."""
    thread = spoken("r1", "r2")
    seen = Continuation.of(thread.head)
    thread.do(put())

    blind = thread.do(replace(accept("r3", claimed=True), continues=seen))
    older = thread.do(replace(accept("r3", claimed=True), follows=4))
    rewound = Rewound(at=NOW, first=4, entries=2)
    taken_back = thread.do(replace(accept("r3", claimed=True), continues=Continuation.of(thread.head, rewound)))
    thread.do(answered("r3", "r3 says"))

    assert [refusal(outcome) for outcome in (blind, older)] == [RunNotNewestError] * 2
    assert isinstance(taken_back, Change)
    assert texts(thread) == ["Hello from r1", "r1 says", "Hello from r3", "r3 says"]


@pytest.mark.behaviour("thread.put")
def test_a_reset_and_a_deletion_forget_them_and_messages_begin_another_life() -> None:
    thread = after(put())
    title = thread.head.title
    thread.do(ResetThread(NOW))
    after_reset = texts(thread)
    thread.do(DeleteThread(NOW))
    thread.do(FinishDelete(NOW, {}))
    late = thread.do(put("p2", epoch=0))
    begun = thread.do(put("p2"))

    assert (title, after_reset) == ("p1 asks", [])
    assert refusal(late) is ThreadDeletedError
    assert isinstance(begun, Change)
    assert (thread.head.epoch, thread.head.state, thread.head.title) == (2, "open", "p2 asks")
    assert texts(thread) == ["p2 asks", "p2 answers"]
