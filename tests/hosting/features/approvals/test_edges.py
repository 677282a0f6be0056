"""What happens to an approval when time passes or its thread is reset, and approvals of other kinds of agents."""

from typing import Any

import pytest
from agent_framework import (
    AgentResponse,
    Content,
    Message,
)

from tests.support.bench import Bench, CountingAgent


class AskingAgent(CountingAgent):
    """An agent of no framework class, which requests an approval and answers with the decisions."""

    async def run(self, messages: list[Message], *, session: Any, **options: Any) -> AgentResponse[Any]:
        """Request what the newest message names, or return the decisions."""
        newest = messages[-1]
        if newest.text:
            call = Content.from_function_call("c-1", "pay", arguments={"n": 1}, id="f-1")
            request = Content.from_function_approval_request("f-1", call)
            return AgentResponse(messages=[Message("assistant", [call, request])])
        decisions = [(content.approved, content.additional_properties.get("reason")) for content in newest.contents]
        return AgentResponse(messages=[Message("assistant", [str(decisions)])])


@pytest.mark.behaviour("approvals.goes-on")
async def test_an_agent_of_no_framework_class_may_ask_too() -> None:
    bench = Bench(AskingAgent())
    run_id = await bench.run("pay")
    (approval,) = (await bench.terminal(run_id)).approvals  # type: ignore[union-attr]
    decisions = [{"id": approval.id, "approved": False, "reason": "no"}]

    answered = await bench.deliver({"decisions": decisions, "correlationId": "r-2"}, signal=False)

    assert (approval.tool, approval.arguments, answered["response"]) == ("pay", {"n": 1}, "[(False, 'no')]")
