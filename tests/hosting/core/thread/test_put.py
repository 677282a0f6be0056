"""Messages that no run made, and a session that no run left: on an idle thread, and the same to every reader."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hosting.core.thread.commands import (
    Change,
    Command,
    Continuation,
    DeleteThread,
    FinishDelete,
    PutMessages,
    ResetThread,
    Unchanged,
    WriteSession,
)
from hosting.core.thread.rows import DeletedRow, KeyRow
from hosting.core.thread.run_request import UserMessage
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

pytestmark = pytest.mark.behaviour("thread.put")

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
