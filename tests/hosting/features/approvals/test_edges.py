"""What happens to an approval when time passes or its thread is reset, and approvals of other kinds of agents."""

from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentResponse,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

from tests.support.bench import Bench, CountingAgent
from tests.support.desk import Desk


def hasty_and_patient(folder: Path) -> tuple[Desk, Desk]:
    """Return two processes of the app over one log and one engine; approvals of the one expire at once."""
    log = {"AGENT_LOG": f"sqlite:{folder / 'log.sqlite'}"}
    hasty, patient = Desk(**log, AGENT_APPROVAL_SECONDS="0.000001"), Desk(**log)
    hasty.host.entities = patient.host.entities
    return hasty, patient


@pytest.mark.behaviour("approvals.expires")
@pytest.mark.parametrize("approved", [True, False])
async def test_after_one_that_expired_the_next_is_requested_and_answered_as_ever(
    tmp_path: Path, approved: bool
) -> None:
    hasty, patient = hasty_and_patient(tmp_path)
    async with hasty.http, patient.http:
        await hasty.approvals_of("call refund 5, look 1")
        (approval,) = await patient.approvals_of("call refund 7, look 2")

        answer = (await patient.answer(approval, approved)).json()["response"]

    assert answer.endswith("| saw 2")
    notes = [note.split()[:2] for note in (*hasty.notes, *patient.notes)]
    assert notes == ([["refund", "7"]] if approved else []) + [["look", "2"]]


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


class ProvidersModel(BaseChatClient[Any]):
    """A model whose provider calls the tools and requests their approval; it returns what it receives."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]]:
        return self._answer(messages)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        kinds = [content.type for message in messages for content in message.contents]
        if "function_approval_response" in kinds:
            return ChatResponse(messages=Message("assistant", [" ".join(kinds)]))
        call = Content.from_function_call("c-1", "search", arguments={}, id="f-1", hosted=True)
        return ChatResponse(messages=Message("assistant", [Content.from_function_approval_request("f-1", call)]))


class ProvidersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ProvidersModel):
    """That model with function invocation and middleware, as every client of the framework has them."""


@pytest.mark.behaviour("approvals.goes-on")
async def test_a_tool_that_the_models_provider_calls_is_approved_there() -> None:
    bench = Bench(Agent(ProvidersClient(), name="Joker"))
    run_id = await bench.run("search")
    (approval,) = (await bench.terminal(run_id)).approvals  # type: ignore[union-attr]

    order = {"decisions": [{"id": approval.id, "approved": True}], "correlationId": "r-2"}
    answered = await bench.deliver(order, signal=False)

    assert answered["response"] == "text function_approval_request function_approval_response"
