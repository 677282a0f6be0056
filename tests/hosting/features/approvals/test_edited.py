"""Approved with other arguments: the call is made with them, the record has both, and the model is told."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import Agent, Content, ToolApprovalMiddleware, tool

from hosting.app import AgentFunctionApp
from hosting.core.entity.called_run import message_fields
from hosting.core.request.fields import read_decisions
from hosting.errors import InvalidFieldError
from hosting.tools import destructive
from tests.support.clerk import ClerksClient
from tests.support.desk import THREADS, Desk
from tests.support.made_app import served

NOTE = 'A person changed the arguments of this call before it was made: {"n": "7"}'


async def asked(desk: Desk, message: str = "call refund 5", **fields: Any) -> dict[str, Any]:
    """Have the clerk ask for one approval; return it."""
    (approval,) = (await desk.say(message, **fields)).json()["pending_approvals"]
    return dict(approval)


@pytest.mark.behaviour("approvals.edited")
async def test_the_call_is_made_with_the_arguments_of_the_person(desk: Desk) -> None:
    approval = await asked(desk)

    answer = await desk.answer(approval["id"], arguments={"n": "7"})

    assert answer.json()["response"] == f"told: {NOTE}\nrefunded 7"
    assert [note[:8] for note in desk.notes] == ["refund 7"]


@pytest.mark.behaviour("approvals.edited")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"approved": True, "arguments": {"n": 7}}, "at $.n the rule 'type' is broken"),
        ({"approved": True, "arguments": {}}, "at $ the rule 'required' is broken"),
        ({"approved": True, "arguments": {"n": "7", "m": 1}}, "at $ the rule 'additionalProperties' is broken"),
        ({"approved": True, "arguments": "7"}, "The field 'arguments' is a JSON string. Send an object"),
        ({"approved": False, "arguments": {"n": "7"}}, "The field 'arguments' is there with approved false."),
    ],
)
async def test_arguments_that_do_not_fit_the_tool_are_refused_and_decide_nothing(
    desk: Desk, body: dict[str, Any], why: str
) -> None:
    approval = await asked(desk)

    refused = await desk.http.post(f"{THREADS}/t/approvals/{approval['id']}", json=body)

    assert refused.status_code == 400
    assert why in refused.json()["detail"]
    assert (await desk.waiting(), desk.notes) == ([approval["id"]], [])


@pytest.mark.behaviour("approvals.edited")
async def test_the_same_arguments_again_find_the_run_and_others_are_refused(desk: Desk) -> None:
    approval = await asked(desk)
    first = await desk.answer(approval["id"], arguments={"n": "7"})

    again = await desk.answer(approval["id"], arguments={"n": "7"})
    others = [await desk.answer(approval["id"], arguments={"n": "6"}), await desk.answer(approval["id"])]

    assert again.json()["run_id"] == first.json()["run_id"]
    assert [other.json()["code"] for other in others] == ["approval_answered", "approval_answered"]


@pytest.mark.behaviour("approvals.edited")
async def test_what_stands_for_the_same_arguments_stands_for_those_of_the_person() -> None:
    desk = Desk(ToolApprovalMiddleware())
    approval = await asked(desk)
    await desk.answer(approval["id"], arguments={"n": "7"}, always="tool_with_arguments")

    (standing,) = (await desk.http.get(f"{THREADS}/t/approvals/standing")).json()["standing_approvals"]
    silent, asks = await desk.say("call refund 7"), await desk.say("call refund 5")

    assert (standing["arguments"], standing["given_at"] is None) == ({"n": "7"}, False)
    assert silent.json()["response"] == "told: refunded 7"
    assert len(asks.json()["pending_approvals"]) == 1


@pytest.mark.behaviour("approvals.edited")
async def test_an_orchestration_cannot_change_arguments() -> None:
    """A person does: over its entity's call, and in the place where an answer of the framework has a reason."""
    call = Content.from_function_call("c", "refund", arguments={"n": "5"})
    properties = {"arguments": {"n": "7"}}
    answer = Content.from_function_approval_response(True, "a", call, additional_properties=properties)

    with pytest.raises(InvalidFieldError, match="A person changes them"):
        read_decisions([{"id": "a", "approved": True, "arguments": {"n": "7"}}])
    with pytest.raises(InvalidFieldError, match="A person changes them"):
        message_fields([answer])


@pytest.mark.behaviour("approvals.destructive")
async def test_a_destructive_tool_says_so_where_it_waits() -> None:
    @destructive
    @tool(approval_mode="always_require")
    def wipe(n: str) -> str:
        return n

    agent = Agent(ClerksClient(), name="Clerk", tools=[wipe])
    async with served(AgentFunctionApp(agents=[agent], environ={"AGENT_LOG": "memory"})) as (_, http):
        body = {"message": "call wipe 5", "thread_id": "t"}
        (approval,) = (await http.post("/api/agents/Clerk/run", json=body)).json()["pending_approvals"]
        (described,) = (await http.get("/api/agents/Clerk")).json()["tools"]

    assert (approval["tool"], approval["destructive"], described["destructive"]) == ("wipe", True, True)
