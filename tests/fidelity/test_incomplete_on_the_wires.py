"""An answer that is no whole one says so in each protocol's own words, to its official client."""

from __future__ import annotations

import json
from typing import Any, Never

import httpx2
import jsonschema
import pytest
from agent_framework import (
    Agent,
    AgentExecutor,
    AgentResponse,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from agent_framework.openai import OpenAIChatClient
from openai import AsyncOpenAI

from hosting.core.entity.called_run import AgentCall, ResultFormat, read_answer
from tests.fidelity.features import agent_of
from tests.fidelity.finishing import CUT, HALF, Finishing, Refusing, last_event
from tests.fidelity.script import Answer
from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import events_of, wanted
from tests.support.direct import DirectHost
from tests.support.made_app import app_of
from tests.support.receiver import WEBHOOKS, receiving
from tests.support.strictly import event, response

LENGTH = Answer(HALF, finish="length")
FILTERED = Answer(HALF, finish="content_filter")
REASONS = {"length": (LENGTH, "max_output_tokens"), "content_filter": (FILTERED, "content_filter")}
NOTE = "This answer is incomplete: its finish_reason is length."


def openai_of(app: Finishing) -> AsyncOpenAI:
    """Return OpenAI's client of the app."""
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app.host.asgi))
    return AsyncOpenAI(api_key="unused", base_url="http://app.example/api/openai/v1", http_client=http, max_retries=0)


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.behaviour("responses.incomplete")
async def test_a_response_is_incomplete_with_its_reason(reason: str) -> None:
    """Created, read again and streamed; its message is incomplete too, and it was never completed."""
    answer, word = REASONS[reason]
    app = Finishing(wires=["responses"])
    app.model.begin_turn([answer])

    async with openai_of(app) as openai:
        created = await openai.responses.create(model="a", input="Tell me.")
        read = await openai.responses.retrieve(created.id)
        stream = await openai.responses.create(model="a", input="Tell me.", stream=True)
        events = [one async for one in stream]

    assert events[-1].type == "response.incomplete"
    for seen in (created, read, events[-1].response):
        response(seen.to_dict())
        assert (seen.status, seen.incomplete_details.reason, seen.output_text) == ("incomplete", word, HALF)  # type: ignore[union-attr]
        assert (seen.output[0].status, seen.completed_at) == ("incomplete", None)  # type: ignore[union-attr]
    for one in events:
        event(one.to_dict())


@pytest.mark.behaviour("responses.incomplete")
async def test_agent_frameworks_client_of_the_wire_gets_the_reason_again() -> None:
    """One hosted agent may ask another so. A word that the protocol does not have is beside its own."""
    app = Finishing(wires=["responses"])
    app.model.begin_turn([LENGTH])

    async with openai_of(app) as openai:
        client = OpenAIChatClient(model="a", async_client=openai)
        waited = await client.get_response("Tell me.")
        stream = client.get_response("Tell me.", stream=True)
        async for _ in stream:
            pass
        streamed = await stream.get_final_response()
        app.model.begin_turn([CUT])
        cut = await openai.responses.create(model="a", input="Tell me.", stream=True)
        last = [one async for one in cut][-1]

    assert [waited.finish_reason, streamed.finish_reason] == ["length", "length"]
    assert last.response.incomplete_details.to_dict() == {"reason": None, "type": "broken_off"}  # type: ignore[union-attr]


@pytest.mark.behaviour("ag-ui.incomplete")
async def test_a_run_of_ag_ui_finishes_with_the_reason_in_its_result() -> None:
    core: Any = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed")
    app = Finishing(wires=["ag-ui"])
    app.model.begin_turn([LENGTH])

    events = events_of((await app.send("POST", "/api/ag-ui/a", wanted("Tell me."))).text)

    assert core.RunFinishedEvent.model_validate(events[-1]).result == {"finishReason": "length", "incomplete": True}
    assert events[-1]["outcome"] == {"type": "success"}


@pytest.mark.behaviour("a2a.incomplete")
async def test_a_task_whose_answer_is_whole_has_the_reason_and_no_message() -> None:
    """The reason stands there for every answer whose model gave one."""
    app = Finishing(wires=["a2a"])
    app.model.begin_turn([Answer("All of it.")])
    sent = {"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {"message": message("Tell me.")}}

    task = (await app.send("POST", "/api/a2a/a", sent, **HEADERS)).json()["result"]["task"]

    assert (task["metadata"], "message" in task["status"]) == ({"finish_reason": "stop", "incomplete": False}, False)


@pytest.mark.behaviour("mcp.incomplete")
async def test_a_result_of_the_tool_says_so_in_text_and_in_structure() -> None:
    app = Finishing(enable_mcp_tool_trigger=True)
    app.model.begin_turn([LENGTH])

    result = await app.host.call_tool("a", {"query": "Tell me."})

    assert result["content"] == [{"type": "text", "text": f"{HALF}\n\n{NOTE}"}]
    structure = result["structuredContent"]
    assert (structure["response"], structure["finish_reason"], structure["incomplete"]) == (HALF, "length", True)
    (announced,) = [one["outputSchema"] for one in app.host.bindings["mcptool-a"] if "outputSchema" in one]
    jsonschema.validate(structure, json.loads(announced))


@pytest.mark.behaviour("webhooks.incomplete")
async def test_a_webhook_says_whether_the_answer_is_whole() -> None:
    async with receiving() as receiver:
        app = Finishing(environ=WEBHOOKS, webhook=receiver.url)
        await app.ask(LENGTH)
        told = (await receiver.next()).message

    assert (told["type"], told["data"]["finish_reason"], told["data"]["incomplete"]) == (
        "run.completed",
        "length",
        True,
    )


@pytest.mark.behaviour("orchestrations.response")
async def test_a_call_from_an_orchestration_gets_the_frameworks_own_reason() -> None:
    app = Finishing()
    app.model.begin_turn([LENGTH])

    result = await app.host.entities.call("dafx-a", "t", "run", {"message": "Tell me.", "correlationId": "run-1"})

    answer = read_answer(AgentCall("a", "t", "run-1", ResultFormat()), json.loads(result["result"]))
    assert (answer.text, answer.finish_reason) == (HALF, "length")


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.behaviour("workflows.incomplete")
async def test_an_answer_of_a_workflow_is_incomplete_where_one_of_its_agents_was_cut(accept: str) -> None:
    app = Finishing()

    def flow() -> Workflow:
        first, second = (
            AgentExecutor(agent_of(app.setting), id="first"),
            AgentExecutor(agent_of(app.setting), id="next"),
        )
        builder = WorkflowBuilder(start_executor=first, name="Flow", output_from=[first, second])
        return builder.add_edge(first, second).build()

    app.host = DirectHost(app_of(workflows=[flow]))
    app.model.begin_turn([LENGTH, Answer("All of it.")])

    reply = await app.send("POST", "/api/workflows/Flow/run", {"message": "Tell me."}, accept=accept)

    body = last_event(reply.text) if accept == "text/event-stream" else reply.json()
    assert (body["finish_reason"], body["incomplete"]) == ("length", True)


class Asks(Executor):
    """Asks an agent by itself, and yields its whole response."""

    def __init__(self, agent: Agent[Any]) -> None:
        super().__init__("asks")
        self._asked = agent

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Never, AgentResponse[Any]]) -> None:
        """Ask, and yield."""
        await ctx.yield_output(await self._asked.run(text))


@pytest.mark.parametrize("reason", ["length", "refusal"])
@pytest.mark.behaviour("workflows.incomplete")
async def test_a_response_that_an_executor_yields_keeps_its_reason(reason: str) -> None:
    app = Finishing()
    app.model.wire = app.model.wire if reason == "length" else Refusing()
    app.host = DirectHost(
        app_of(workflows=[lambda: WorkflowBuilder(start_executor=Asks(agent_of(app.setting)), name="Flow").build()])
    )
    app.model.begin_turn([LENGTH if reason == "length" else Answer("I will not.")])

    body = (await app.send("POST", "/api/workflows/Flow/run", {"message": "Tell me."})).json()

    assert (body["finish_reason"], body["incomplete"]) == (reason, True)
