"""Approvals that an MCP client meets, and those that an orchestration brings: the same thread, the same rules."""

import json
from typing import Any

import pytest
from agent_framework import AgentResponse, Content

from hosting.core.entity.called_run import (
    AgentCall,
    AgentRunError,
    MessageInput,
    message_fields,
    read_answer,
    result_format,
)
from hosting.errors import HostingError
from tests.support.desk import Desk


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
async def test_what_an_orchestration_answered_is_answered_for_everybody_and_once(desk: Desk) -> None:
    """A second run with answers is void, the first one delivered again is not; nothing is called twice."""
    paused = await called(desk, "call refund 5", "r-1")
    (approval,) = await desk.waiting()
    await called(desk, answers(paused, True), "r-2")

    over_http = await desk.answer(approval, False)
    again = await called(desk, answers(paused, True), "r-2")
    with pytest.raises(AgentRunError) as second:
        await called(desk, answers(paused, True), "r-3")

    assert (over_http.json()["code"], again.text) == ("approval_answered", "told: refunded 5")
    assert (second.value.code, len(desk.notes)) == ("approvals_void", 1)


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
