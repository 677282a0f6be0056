"""Tools of the caller: declared by the request or the agent, called by the model, answered by the client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from agent_framework import Agent, FunctionTool

from tests.support.desk import Desk

WHERE: dict[str, Any] = {
    "name": "where",
    "description": "Where the person is.",
    "parameters": {"type": "object", "properties": {"n": {"type": "string"}}},
}
POSITION = {**WHERE, "answer_schema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}


@pytest.fixture
async def open_desk() -> AsyncIterator[Desk]:
    """One process of the app, whose agent takes tools of its callers."""
    desk = Desk(client_tools=True)
    async with desk.http:
        yield desk


async def calls_of(desk: Desk, message: str, *tools: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a message with tools, and return what waits then."""
    answer = await desk.say(message, client_tools=list(tools))
    assert answer.status_code == 200, answer.text
    return list(answer.json()["pending_approvals"])


async def send(desk: Desk, call: dict[str, Any], thread_id: str = "t", **answer: Any) -> httpx.Response:
    return await desk.http.post(f"/api/agents/Clerk/threads/{thread_id}/approvals/{call['id']}", json=answer)


@pytest.mark.behaviour("client-tools.called")
async def test_a_call_of_a_callers_tool_ends_the_run_with_the_call(open_desk: Desk) -> None:
    answer = (await open_desk.say("call where 5", client_tools=[WHERE])).json()

    (call,) = answer["pending_approvals"]
    assert (call["kind"], call["tool"], call["arguments"]) == ("client_tool", "where", {"n": "5"})
    assert answer["response"] == "One moment.\n\nWaits for the caller's result of: where."
    assert await open_desk.waiting() == [call["id"]]
    assert (await open_desk.say("hello")).json()["code"] == "approvals_pending"


@pytest.mark.behaviour("client-tools.answered")
@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"value": "Paris"}, "Paris"),
        ({"value": {"city": "Paris", "at": [1, 2.5, None]}}, '{"at": [1, 2.5, null], "city": "Paris"}'),
        ({"value": None}, "null"),
        ({"value": ""}, ""),
        ({"error": "no signal"}, "Error: no signal"),
        ({"approved": False}, "This call was not made: it was refused."),
        ({"approved": False, "reason": "not now"}, "This call was not made: it was refused. Reason: not now"),
    ],
)
async def test_the_run_goes_on_with_the_clients_result(open_desk: Desk, answer: dict[str, Any], result: str) -> None:
    """Any JSON value, an error, or that it was not called; once, and the conversation keeps it."""
    (call,) = await calls_of(open_desk, "call where 5", WHERE)

    response = await send(open_desk, call, **answer)

    assert (response.status_code, response.json()["response"]) == (200, f"told: {result}")
    assert (await open_desk.say("thanks")).json()["response"] == "echo: thanks"
    assert (await send(open_desk, call, value="other")).json()["code"] == "approval_answered"
    assert (await send(open_desk, call, **answer)).json()["run_id"] == response.json()["run_id"]


@pytest.mark.behaviour("client-tools.checked")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"value": {"x": "east"}},
            "The result of tool 'where' is not as its answer_schema says: at $.x the rule 'type' is broken.",
        ),
        ({"value": {}}, "at $ the rule 'required' is broken."),
        ({"approved": True}, "Tool 'where' is the caller's own. Send its result as 'value', or 'error'."),
    ],
)
async def test_a_wrong_answer_is_refused_with_its_place(open_desk: Desk, answer: dict[str, Any], said: str) -> None:
    (call,) = await calls_of(open_desk, "call where 5", POSITION)
    assert call["answer_schema"] == POSITION["answer_schema"]

    refused = await send(open_desk, call, **answer)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert said in refused.json()["detail"]
    assert (await send(open_desk, call, value={"x": 4})).json()["response"] == 'told: {"x": 4}'


@pytest.mark.behaviour("client-tools.mixed")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
async def test_calls_of_all_kinds_in_one_answer_are_answered_in_any_order(
    open_desk: Desk, order: tuple[int, ...]
) -> None:
    """The app's own tools are called once all is answered, each once; results stand in the model's order."""
    calls = await calls_of(open_desk, "call where 1, look 2, refund 3, where 4", WHERE)
    answers: list[dict[str, Any]] = [{"value": "here"}, {"approved": True}, {"value": "there"}]

    sent = [await send(open_desk, calls[place], **answers[place]) for place in order]

    assert [call["kind"] for call in calls] == ["client_tool", "approve", "client_tool"]
    assert [response.json()["status"] for response in sent] == ["answered", "answered", "success"]
    assert sent[-1].json()["response"] == "told: here | saw 2 | refunded 3 | there"
    assert [note.split()[0] for note in open_desk.notes] == ["look", "refund"]


@pytest.mark.behaviour("client-tools.kept")
async def test_the_run_that_goes_on_has_the_same_tools(open_desk: Desk) -> None:
    """The model may call them again and again; the next message has those that it brings."""
    (first,) = await calls_of(open_desk, "call where 5", {**WHERE, "name": "refund_9"}, WHERE)
    answer = await send(open_desk, first, value="again")

    (second,) = answer.json()["pending_approvals"]
    assert second["tool"] == "refund"
    await send(open_desk, second, approved=False)
    offered = await open_desk.say("call where 1")
    assert 'Requested function "where" not found' in offered.json()["response"]


@pytest.mark.behaviour("client-tools.declared")
async def test_a_tool_that_the_agent_only_declares_is_a_tool_of_the_caller() -> None:
    """Plain agent-framework code; no option is needed, for the author declared it."""
    where = FunctionTool(name="where", func=None, description="Where?", input_model=WHERE["parameters"])
    desk = Desk()
    agent = desk.app.agents["Clerk"]
    assert isinstance(agent, Agent)
    agent.default_options["tools"].append(where)
    async with desk.http:
        (call,) = (await desk.say("call where 5")).json()["pending_approvals"]
        answer = await send(desk, call, value="Paris")

    assert (call["kind"], answer.json()["response"]) == ("client_tool", "told: Paris")


@pytest.mark.behaviour("client-tools.off")
async def test_an_agent_takes_tools_of_callers_only_if_its_author_says_so(desk: Desk) -> None:
    refused = await desk.say("call where 5", client_tools=[WHERE])

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field")
    assert "client_tools=True" in refused.json()["detail"]
    assert (await desk.say("hello", client_tools=[])).status_code == 200


WRONG_TOOLS: list[tuple[Any, ...]] = [
    ("where", "The field 'client_tools' is a JSON string."),
    ([1], "client_tools[0] is a JSON number."),
    ([{**WHERE, "name": "refund"}], "client_tools[0].name is 'refund', which is a tool of the agent."),
    ([WHERE, WHERE], "client_tools[1].name is 'where', which another one has."),
    ([{**WHERE, "name": "a b"}], "client_tools[0].name is 'a b'. Send 1 to 64 of A-Z a-z 0-9 _ -."),
    ([{"description": "x"}], "client_tools[0].name is None."),
    ([{**WHERE, "strict": True}], "client_tools[0] has the member 'strict'."),
    ([{**WHERE, "description": 5}], "client_tools[0].description is a JSON number."),
    ([{**WHERE, "parameters": {"type": "array"}}], "client_tools[0].parameters describes no object."),
    (
        [{**WHERE, "parameters": {"type": "object", "properties": 5}}],
        "client_tools[0].parameters.properties is not an object of JSON Schemas.",
    ),
    ([{**WHERE, "answer_schema": {"type": "nothing"}}], "client_tools[0].answer_schema "),
    ([{**WHERE, "name": f"where_{number}"} for number in range(65)], "has 65 tools; the limit is 64."),
    ([{**WHERE, "description": "x" * 70_000}], "bytes as JSON; the limit is 65,536."),
]


@pytest.mark.behaviour("client-tools.refused")
async def test_wrong_tools_are_refused_with_their_place(open_desk: Desk) -> None:
    for tools, said in WRONG_TOOLS:
        refused = await open_desk.say("hello", client_tools=tools)

        assert refused.status_code in {400, 413}, refused.text
        assert said in refused.json()["detail"]
