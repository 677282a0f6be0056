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
    ClaimRun,
    Command,
    Continuation,
    DeleteThread,
    FinishDelete,
    ReleaseRun,
    ResetThread,
    RetryRun,
    Unchanged,
    WithdrawStanding,
)
from hosting.core.thread.messages import approval_id
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run_request import Decision
from hosting.core.thread.thread_events import Rewound
from hosting.errors import (
    ApprovalExpiredError,
    ApprovalsPendingError,
    RunNotNewestError,
    ThreadBusyError,
    ThreadDeletingError,
)
from hosting.principal import Principal
from state.convert import stored_response
from state.standing import StandingApproval, standing_approvals
from tests.hosting.core.thread.played import after, conversation_of, conversations, numbered, runs_of, spoken
from tests.support.state_documents import history_messages
from tests.support.threads import NOW, Thread, accept, accepted, answered, completed, end, refusal, terms


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


@pytest.mark.behaviour("thread.rewound")
def test_the_runs_are_taken_back_and_the_next_one_stands_in_their_place() -> None:
    """In one append, whatever document was stored before or after it."""
    thread = spoken("r1", "r2", "r3")

    outcome = thread.do(rewinding(thread, first_of(thread, "r2"), 2))
    thread.do(answered("new", "again"))

    assert isinstance(outcome, Change)
    assert [event.kind for event in outcome.events] == ["rewound", "accepted", "claimed"]
    assert runs_of_each(thread) == [["r1", "new"]]


@pytest.mark.behaviour("thread.rewound")
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


@pytest.mark.behaviour("thread.rewound")
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


@pytest.mark.behaviour("thread.rewound")
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


@pytest.mark.behaviour("thread.rewound")
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


ADA = Principal("https://login.example", "ada", "Ada")
RULES: dict[str, dict[str, Any]] = {
    "pay": {"tool_name": "pay"},
    "pay 5": {"tool_name": "pay", "arguments": {"amount": "5.50", "to": '"Eve"'}},
    "send": {"tool_name": "send", "server_label": "post"},
}


def session_of(*rules: str) -> dict[str, Any]:
    """Return a session as agent-framework serializes it, with these rules of its middleware."""
    kept = {
        "rules": [{"type": "tool_approval_rule", **RULES[rule]} for rule in rules],
        "queued_approval_requests": [],
        "collected_approval_responses": [],
    }
    return {"type": "session", "session_id": "s", "state": {"tool_approval": kept, "todo": {"items": ["rules"]}}}


def thread_with(*rules: str) -> Thread:
    """Return a thread whose first run left these rules."""
    return after(accept("r1", claimed=True), replace(end("r1"), terminal=completed("r1", session=session_of(*rules))))


def standing(thread: Thread) -> list[StandingApproval]:
    """Return the standing approvals that every reader of the thread finds."""
    first, *others = [standing_approvals(conversation) for conversation in conversations(thread)]
    assert all(other == first for other in others)
    return first


def withdraw(thread: Thread, number: int) -> None:
    """Withdraw the standing approval with that number."""
    assert isinstance(thread.do(WithdrawStanding(NOW, standing(thread)[number].id)), Change)


@pytest.mark.behaviour("thread.standing")
def test_what_is_withdrawn_goes_and_the_rest_of_the_session_stays() -> None:
    thread = thread_with("pay", "pay 5", "send")
    pay, pay_five, send = standing(thread)

    withdraw(thread, 0)

    assert (pay.tool, pay.arguments, pay.server) == ("pay", None, None)
    assert pay_five.arguments == {"amount": 5.5, "to": "Eve"}
    assert (send.tool, send.server) == ("send", "post")
    assert standing(thread) == [pay_five, send]
    assert all("['rules']" in str(conversation) for conversation in conversations(thread))


@pytest.mark.behaviour("thread.standing")
@pytest.mark.parametrize(
    "then",
    [(), (ReleaseRun(NOW, "token-r2", signalled=True),), (RetryRun(NOW, "token-r2", "token-3", "run_failed"),)],
    ids=["works", "released", "tried-again"],
)
def test_a_run_that_began_keeps_its_rules_in_each_attempt(then: tuple[Command, ...]) -> None:
    thread = thread_with("pay")
    for command in (accept("r2", claimed=True), *then):
        thread.do(command)

    outcome = thread.do(WithdrawStanding(NOW, standing(thread)[0].id))

    assert refusal(outcome) is ThreadBusyError
    assert "standing_withdrawn" not in thread.kinds()


@pytest.mark.behaviour("thread.standing")
def test_a_run_that_was_not_claimed_yet_begins_without_the_rule() -> None:
    thread = thread_with("pay")
    thread.do(accept("r2"))

    withdraw(thread, 0)
    thread.do(ClaimRun(NOW, terms("token-r2")))

    assert standing(thread) == []


@pytest.mark.behaviour("thread.standing")
def test_a_thread_that_goes_takes_no_withdrawal() -> None:
    """One that is gone, or has no session, has nothing to withdraw."""
    withdrawal = WithdrawStanding(NOW, "a" * 32)
    thread = thread_with("pay")
    thread.do(DeleteThread(NOW))

    assert refusal(thread.do(withdrawal)) is ThreadDeletingError
    thread.do(FinishDelete(NOW, {}))
    assert isinstance(thread.do(withdrawal), Unchanged)
    plain = spoken("r1")
    plain.do(withdrawal)
    assert standing(plain) == []


@pytest.mark.behaviour("thread.standing")
def test_a_run_that_goes_on_from_before_others_brings_nothing_back() -> None:
    """The state that providers had left then has the rule; what was given since goes with its run."""
    thread = thread_with("pay", "pay 5")
    thread.do(accept("r2", claimed=True))
    thread.do(replace(end("r2"), terminal=completed("r2", session=session_of("pay", "pay 5", "send"))))
    withdraw(thread, 0)
    first = next(at for at, event in numbered(thread) if getattr(event, "run_id", "") == "r2")

    rewound = Rewound(at=NOW, first=first, entries=2, session=session_of("pay", "pay 5"))
    continues = Continuation.of(thread.head, rewound)
    assert isinstance(thread.do(replace(accept("r3", claimed=True), continues=continues)), Change)

    assert [approval.arguments for approval in standing(thread)] == [{"amount": 5.5, "to": "Eve"}]


def asking(thread: Thread, run_id: str, amount: str, *rules: str) -> str:
    """Have a run end with a call that waits, and with these rules; return the approval's id."""
    call = Content.from_function_call("c1", "pay", arguments=f'{{"to": "Eve", "amount": {amount}}}')
    response = AgentResponse(messages=[Message("assistant", [call, Content.from_function_approval_request("q", call)])])
    entry = stored_response(run_id=run_id, created_at="2027-01-15T08:00:00Z", response=response)
    asked = completed(run_id, approval_id(run_id, "q")).model_copy(
        update={"entry": entry, "session": session_of(*rules)}
    )
    thread.do(accept(run_id, claimed=True))
    thread.do(replace(end(run_id), terminal=asked))
    return approval_id(run_id, "q")


def given(thread: Thread, always: Any, rule: str, amount: str = "5.50", run_id: str = "r1") -> None:
    """Have Ada approve for good what a run asks for; the run that continues adds the rule."""
    decision = Decision(id=asking(thread, run_id, amount), approved=True, always=always)
    resumed = f"{run_id}-resumed"
    accepts = accepted(resumed, decisions=(decision,), principal=ADA)
    answer = AnswerApproval(
        NOW + 60, decision, ApprovalRow(epoch=0, asked_by=run_id), accepts, terms(f"token-{resumed}"), ADA
    )
    assert isinstance(thread.do(answer), Change)
    thread.do(replace(end(resumed), terminal=completed(resumed, session=session_of(rule))))


@pytest.mark.behaviour("thread.standing")
@pytest.mark.parametrize(("always", "rule"), [("tool", "pay"), ("tool_with_arguments", "pay 5")])
def test_the_list_says_who_gave_it_and_when(always: Any, rule: str) -> None:
    """Of a number with the digits that the model wrote, too."""
    thread = Thread()

    given(thread, always, rule)

    (approval,) = standing(thread)
    assert approval.by == {"issuer": ADA.issuer, "id": "ada", "name": "Ada"}
    assert approval.at == "2027-01-15T08:01:00.000000+00:00"


@pytest.mark.behaviour("thread.standing")
def test_what_is_given_again_stands_whatever_was_withdrawn_before() -> None:
    """Also where a run that was queued then is still open, so that the withdrawal is read once more."""
    thread = thread_with("pay")
    decision = Decision(id=asking(thread, "r2", "5.50", "pay"), approved=True, always="tool")
    resumed = accepted("r3", decisions=(decision,), principal=ADA)
    thread.do(AnswerApproval(NOW, decision, ApprovalRow(epoch=0, asked_by="r2"), resumed))
    thread.do(accept("r4"))
    withdraw(thread, 0)

    thread.do(ClaimRun(NOW, terms("token-r3")))
    thread.do(replace(end("r3"), terminal=completed("r3", session=session_of("pay"))))

    assert [approval.tool for approval in standing(thread)] == ["pay"]
