"""A run that goes on from before others: they are taken back in the append that accepts it, and nothing returns."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message
from msgspec.structs import replace

from hosting.core.thread.commands import (
    AcceptRun,
    AnswerApproval,
    CancelRun,
    Change,
    Continuation,
    ResetThread,
)
from hosting.core.thread.messages import approval_id
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run_request import Decision
from hosting.core.thread.thread_events import Rewound
from hosting.errors import ApprovalExpiredError, ApprovalsPendingError, RunNotNewestError
from state.conversation import session_state
from state.convert import stored_response
from tests.hosting.core.thread.played import after, conversation_of, conversations, numbered, runs_of, spoken
from tests.support.state_documents import history_messages
from tests.support.threads import NOW, Thread, accept, accepted, answered, completed, end, refusal, terms

pytestmark = pytest.mark.behaviour("thread.rewound")


def rewinding(thread: Thread, first: int, entries: int, run_id: str = "new", **members: Any) -> AcceptRun:
    """Return the command by which a run goes on from before the run at that position."""
    session = members.pop("session", None)
    rewound = Rewound(at=NOW, first=first, entries=entries, session=session)
    return replace(accept(run_id, claimed=True, **members), continues=Continuation.of(thread.head, rewound))


def first_of(thread: Thread, run_id: str) -> int:
    """Return the position at which a run was accepted."""
    return next(at for at, event in numbered(thread) if event.kind == "accepted" and event.run_id == run_id)


def runs_of_each(thread: Thread) -> list[list[str]]:
    """Return the runs of the conversation for each reader, without those that are the same."""
    read_by_each = [list(dict.fromkeys(runs_of(conversation))) for conversation in conversations(thread)]
    return [runs for number, runs in enumerate(read_by_each) if runs not in read_by_each[:number]]


def test_the_runs_are_taken_back_and_the_next_one_stands_in_their_place() -> None:
    """In one append, whatever document was stored before or after it."""
    thread = spoken("r1", "r2", "r3")

    outcome = thread.do(rewinding(thread, first_of(thread, "r2"), 2))
    thread.do(answered("new", "again"))

    assert isinstance(outcome, Change)
    assert [event.kind for event in outcome.events] == ["rewound", "accepted", "claimed"]
    assert runs_of_each(thread) == [["r1", "new"]]


@pytest.mark.parametrize("between", [accept("other"), ResetThread(NOW), answered("r2", "late")])
def test_nothing_is_taken_back_once_the_thread_went_on(between: Any) -> None:
    """By a run, a reset or an end that came meanwhile, which was not looked at: the caller looks again."""
    thread = spoken("r1")
    thread.do(accept("r2", claimed=True))
    command = rewinding(thread, first_of(thread, "r2"), 2)
    thread.do(between)
    before = thread.head

    assert refusal(thread.do(command)) is RunNotNewestError
    assert thread.head == before


@pytest.mark.parametrize("reason", [None, "asked", "interrupt"])
def test_a_run_under_way_ends_and_leaves_nothing(reason: Any) -> None:
    """Whatever was to become of it before: not its words, and no approvals for which the thread would wait."""
    thread = spoken("r1")
    thread.do(accept("r2", claimed=True))
    thread.do(accept("r3"))
    if reason is not None:
        thread.do(CancelRun(NOW, "r2", reason))

    thread.do(rewinding(thread, first_of(thread, "r2"), 2))
    thread.do(end("r2", "a1"))

    assert [run.id for run in thread.head.runs] == ["new"]
    assert not thread.head.is_waiting_for_approval(NOW)
    assert runs_of_each(thread) == [["r1"]]


def test_a_thread_that_waits_goes_on_from_before_the_run_that_asked() -> None:
    """And waits for nobody then: a decision comes too late. From behind it, it takes no message as ever."""
    thread = spoken("r1")
    thread.do(accept("r2", claimed=True))
    thread.do(end("r2", "a1"))
    behind = rewinding(thread, thread.head.position + 1, 4)

    assert refusal(thread.do(behind)) is ApprovalsPendingError
    thread.do(rewinding(thread, first_of(thread, "r2"), 2))
    decided = AnswerApproval(
        NOW, Decision(id="a1", approved=True), ApprovalRow(epoch=0, asked_by="r2"), accepted("r9", decisions=())
    )

    assert thread.head.waiting is None
    assert refusal(thread.do(decided)) is ApprovalExpiredError


def test_what_providers_left_is_what_they_had_left_before() -> None:
    thread = Thread()
    for run_id in ("r1", "r2", "r3"):
        thread.do(accept(run_id, claimed=True))
        thread.do(replace(end(run_id), terminal=completed(run_id, session={"of": run_id})))
    other = Thread(thread.head)
    other.events = [*thread.events]

    thread.do(rewinding(thread, first_of(thread, "r3"), 4, session={"of": "r2"}))
    other.do(rewinding(other, first_of(other, "r2"), 2, session={"of": "r1"}))
    before = conversation_of(other)

    assert session_state(conversation_of(thread)) == {"of": "r2"}
    assert session_state(before) == {"of": "r1"}
    assert set(runs_of(before)) == {"r1"}


def test_calls_that_were_closed_by_what_was_taken_back_are_closed_anew() -> None:
    """Of an older turn that asked, whose time passed: the model is sent no call without its result."""
    thread = after(accept("r1", claimed=True))
    call = Content.from_function_call("c1", "pay", arguments={})
    request = Content.from_function_approval_request("q1", call)
    response = AgentResponse(messages=[Message("assistant", [call, request])])
    entry = stored_response(run_id="r1", created_at="2027-01-15T08:00:00Z", response=response)
    asking = completed("r1", approval_id("r1", "q1"), expires_at=NOW).model_copy(update={"entry": entry})
    thread.do(replace(end("r1"), terminal=asking))
    for run_id in ("r2", "r3"):
        thread.do(replace(accept(run_id, at=NOW + 1), terms=terms(f"token-{run_id}")))
        thread.do(answered(run_id, f"{run_id} says"))

    thread.do(rewinding(thread, first_of(thread, "r2"), 2, at=NOW + 2))
    thread.do(answered("new", "again"))

    roles = [str(message.role) for message in history_messages(conversation_of(thread))]
    assert roles == ["user", "assistant", "tool", "user", "assistant"]
