"""Approvals with other arguments, of MCP clients and orchestrations, of other agents, and in two processes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentResponse,
    Content,
    tool,
)

from hosting.app import AgentFunctionApp
from hosting.core.entity.called_run import (
    AgentCall,
    MessageInput,
    message_fields,
    read_answer,
    result_format,
)
from hosting.core.request.fields import read_decisions
from hosting.core.thread.events import Accepted, Completed
from hosting.errors import (
    HostingError,
    InvalidFieldError,
)
from hosting.tools import destructive
from tests.support.clerk import ClerksClient
from tests.support.cluster.cluster import ADDRESS, AGENT, THREAD, AppProcess, Cluster, EchoAgent
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


WRONG_ARGUMENTS: list[tuple[Any, ...]] = [
    ({"approved": True, "arguments": {"n": 7}}, "at $.n the rule 'type' is broken"),
    ({"approved": True, "arguments": {}}, "at $ the rule 'required' is broken"),
    ({"approved": True, "arguments": {"n": "7", "m": 1}}, "at $ the rule 'additionalProperties' is broken"),
    ({"approved": True, "arguments": "7"}, "The field 'arguments' is a JSON string. Send an object"),
    ({"approved": False, "arguments": {"n": "7"}}, "The field 'arguments' is there with approved false."),
]


@pytest.mark.behaviour("approvals.edited")
async def test_arguments_that_do_not_fit_the_tool_are_refused_and_decide_nothing(desk: Desk) -> None:
    approval = await asked(desk)
    for body, why in WRONG_ARGUMENTS:
        refused = await desk.http.post(f"{THREADS}/t/approvals/{approval['id']}", json=body)

        assert refused.status_code == 400
        assert why in refused.json()["detail"]
        assert (await desk.waiting(), desk.notes) == ([approval["id"]], [])


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


@pytest.mark.behaviour("approvals.mcp")
async def test_an_mcp_client_learns_what_waits_and_where_a_person_answers(desk: Desk) -> None:
    """In text and in structure; the thread that a person let go on is the client's."""
    result = await desk.host.call_tool("Clerk", {"query": "call refund 5", "threadId": "t"})
    (approval,) = await desk.waiting()

    text, structure = result["content"][0]["text"], result["structuredContent"]
    meanwhile = await desk.host.call_tool("Clerk", {"query": "hello?", "threadId": "t"})
    await desk.answer(approval)
    later = await desk.host.call_tool("Clerk", {"query": "hello", "threadId": "t"})

    assert (result["isError"], structure["response"], structure["pending_approvals"][0]["id"]) == (
        False,
        "One moment.\n\nWaits for a person's approval of: refund.",
        approval,
    )
    assert f"Waits for approval {approval}: refund" in text
    assert "POST agents/Clerk/threads/t/approvals/<id>" in text
    assert (meanwhile["isError"], meanwhile["structuredContent"]["code"]) == (True, "approvals_pending")
    assert later["structuredContent"]["response"] == "echo: hello"


async def called(desk: Desk, message: MessageInput, run_id: str) -> AgentResponse[Any]:
    """Call the clerk on thread t as an orchestration does, and return what its task gives."""
    call = AgentCall("Clerk", "t", run_id, result_format(None))
    fields = {**message_fields(message), "correlationId": run_id, "orchestrationId": "o-1"}
    result = await desk.host.entities.call("dafx-clerk", "t", "run", fields)
    answer = json.loads(json.loads(result["result"])) if not result["isError"] else Exception(result["result"])
    return read_answer(call, json.dumps(answer) if isinstance(answer, dict) else answer)


def answers(response: AgentResponse[Any], *approved: bool, reason: str | None = None) -> list[Content]:
    """Return the framework's answers to the approvals that a response requests."""
    contents = [
        request.to_function_approval_response(each)
        for request, each in zip(response.user_input_requests, approved, strict=True)
    ]
    for content in contents:
        content.additional_properties["reason"] = reason
    return contents


@pytest.mark.behaviour("approvals.orchestrations")
async def test_an_orchestration_gets_the_requests_and_brings_the_answers(desk: Desk) -> None:
    paused = await called(desk, "call refund 5, refund 7", "r-1")
    listed = await desk.waiting()

    resumed = await called(desk, answers(paused, True, False, reason="no"), "r-2")

    assert [request.id for request in paused.user_input_requests] == listed
    assert resumed.text == "told: refunded 5 | This call was not made: it was refused. Reason: no"
    assert await desk.waiting() == []


@pytest.mark.behaviour("approvals.orchestrations")
@pytest.mark.parametrize("approved", ["yes", 1, None])
async def test_an_answer_that_is_neither_yes_nor_no_is_refused(approved: Any) -> None:
    call = Content.from_function_call("c", "refund", arguments={})
    answer = Content.from_function_approval_response(True, "a", call)
    wrong = Content.from_function_approval_response(True, "a", call)
    wrong.approved = approved

    with pytest.raises(HostingError, match="'approved'"):
        message_fields([wrong])
    with pytest.raises(HostingError, match="two runs"):
        message_fields([answer, "and hello"])


class AskingAgent(EchoAgent):
    """An agent of no framework class, which requests an approval and answers with the decisions."""

    def run(self, messages: Any = None, **options: Any) -> Any:
        """Request what the newest message names, or return the decisions."""
        decisions = [(each.approved, each.additional_properties.get("reason")) for each in messages[-1].contents]
        return self._answer([messages[-1].text or str(decisions)])


@pytest.mark.moved_time
@pytest.mark.behaviour("approvals.goes-on")
async def test_an_agent_of_no_framework_class_may_ask_too() -> None:
    cluster = Cluster(AskingAgent)
    app = cluster.process()
    (approval,) = await paused(app, "c1")
    decisions = [{"id": approval, "approved": False, "reason": "no"}]
    answered = await app.operate({"decisions": decisions, "correlationId": "r-2"}, is_signal=False)

    assert answered["response"] == "echo: [(False, 'no')]"
    await cluster.close()


async def paused(app: AppProcess, *calls: str) -> list[str]:
    """Have a run ask for approval of these calls; return the ids under which they are answered."""
    app.agent.asks = list(calls)
    ended = await app.answered()
    assert isinstance(ended.end, Completed)
    return [approval.id for approval in ended.end.approvals]


@pytest.mark.moved_time
@pytest.mark.behaviour("service.approvals")
async def test_two_last_answers_at_one_moment_begin_one_run(cluster: Cluster) -> None:
    """Each decides on another call; the later one brings both decisions."""
    one, other = cluster.process(), cluster.process()
    first, second = await paused(one, "c1", "c2")
    places = [(one, first), (other, second)]
    body = {"approved": True, "wait_for_response": False}
    both = await asyncio.gather(
        *(app.http.post(f"/api/agents/{AGENT}/threads/{THREAD}/approvals/{id_}", json=body) for app, id_ in places)
    )
    begun = [event for _, event in await one.log.events(ADDRESS, 0) if isinstance(event, Accepted)][1:]

    assert sorted(answer.json()["status"] for answer in both) == ["accepted", "answered"]
    assert [{each.id for each in run.request.decisions} for run in begun] == [{first, second}]
