"""Standing approvals of a thread: a withdrawal holds from the next run on, and no earlier state undoes it."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message
from msgspec.structs import replace

from hosting.core.thread.commands import (
    AnswerApproval,
    Change,
    ClaimRun,
    Command,
    Continuation,
    DeleteThread,
    FinishDelete,
    ReleaseRun,
    RetryRun,
    Unchanged,
    WithdrawStanding,
)
from hosting.core.thread.messages import approval_id
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run_request import Decision
from hosting.core.thread.thread_events import Rewound
from hosting.errors import ThreadBusyError, ThreadDeletingError
from hosting.principal import Principal
from state.convert import stored_response
from state.standing import StandingApproval, standing_approvals
from tests.hosting.core.thread.played import after, conversations, numbered, spoken
from tests.support.threads import NOW, Thread, accept, accepted, completed, end, refusal, terms

pytestmark = pytest.mark.behaviour("thread.standing")

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


def test_what_is_withdrawn_goes_and_the_rest_of_the_session_stays() -> None:
    thread = thread_with("pay", "pay 5", "send")
    pay, pay_five, send = standing(thread)

    withdraw(thread, 0)

    assert (pay.tool, pay.arguments, pay.server) == ("pay", None, None)
    assert pay_five.arguments == {"amount": 5.5, "to": "Eve"}
    assert (send.tool, send.server) == ("send", "post")
    assert standing(thread) == [pay_five, send]
    assert all("['rules']" in str(conversation) for conversation in conversations(thread))


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


def test_a_run_that_was_not_claimed_yet_begins_without_the_rule() -> None:
    thread = thread_with("pay")
    thread.do(accept("r2"))

    withdraw(thread, 0)
    thread.do(ClaimRun(NOW, terms("token-r2")))

    assert standing(thread) == []


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


@pytest.mark.parametrize(("always", "rule"), [("tool", "pay"), ("tool_with_arguments", "pay 5")])
def test_the_list_says_who_gave_it_and_when(always: Any, rule: str) -> None:
    """Of a number with the digits that the model wrote, too."""
    thread = Thread()

    given(thread, always, rule)

    (approval,) = standing(thread)
    assert approval.by == {"issuer": ADA.issuer, "id": "ada", "name": "Ada"}
    assert approval.at == "2027-01-15T08:01:00.000000+00:00"


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
