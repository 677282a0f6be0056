"""An answer that is no whole one says so: over HTTP, in each protocol's own words, and in what is kept of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

import httpx
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
    tool,
)
from agent_framework.openai import OpenAIChatClient
from openai import AsyncOpenAI

from hosting.assembly import WIRES
from hosting.core.thread.finish import BROKEN_OFF
from tests.fidelity.anthropic_messages import AnthropicMessages
from tests.fidelity.chat_completions import ChatCompletions
from tests.fidelity.features import agent_of
from tests.fidelity.finishing import CLIENTS, CUT, HALF, THREAD, Finishing, Refusing, last_event
from tests.fidelity.responses import Responses
from tests.fidelity.script import Answer, Call, Finish
from tests.support.direct import DirectHost
from tests.support.doors import DOORS, Door, client_of
from tests.support.made_app import app_of
from tests.support.receiver import WEBHOOKS, receiving
from tests.support.strictly import event, response

LENGTH = Answer(HALF, finish="length")
FORMS = pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])


def body_of(reply: httpx.Response) -> dict[str, Any]:
    """Return what a reply says, or the last event of a stream."""
    return last_event(reply.text) if reply.headers["content-type"].startswith("text/event-stream") else reply.json()


def said(body: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a body says of its answer."""
    return body["response"], body["finish_reason"], body["incomplete"]


class _Paused(AnthropicMessages):
    """Pauses each turn, as Anthropic does while its own tools are at work."""

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        return {**super().reply(answer, number), "stop_reason": "pause_turn"}


class _Steered(Responses):
    """Ends each answer for a reason for which the framework has no word."""

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        return {**super().reply(answer, number), "status": "incomplete", "incomplete_details": {"reason": "steered"}}


@pytest.mark.parametrize(
    ("client", "wire", "finish", "reason"),
    [
        *((client, None, "length", "length") for client in CLIENTS),
        ("chat completions", None, "stop", "stop"),
        ("chat completions", None, "content_filter", "content_filter"),
        ("chat completions", Refusing(), "stop", "refusal"),
        ("anthropic", _Paused(), "stop", "pause_turn"),
        ("responses", _Steered(), "stop", "steered"),
    ],
)
@pytest.mark.behaviour("http.incomplete")
async def test_an_answer_says_why_its_model_ended_it_and_whether_it_is_whole(
    client: str, wire: Any, finish: Finish, reason: str
) -> None:
    """In JSON, in headers, at the run's own address, and as the last event of a stream."""
    answer, app = Answer(HALF, finish=finish), Finishing(client)
    app.model.wire = wire or app.model.wire

    waited = await app.ask(answer)
    read = await app.send("GET", f"{THREAD}/runs/{waited.json()['run_id']}")
    streamed = await app.ask(answer, accept="text/event-stream")

    is_incomplete = reason != "stop"
    expected = (HALF, reason, is_incomplete)
    assert said(waited.json()) == said(read.json()) == said(last_event(streamed.text)) == expected
    assert waited.headers["x-ms-finish-reason"] == reason
    assert waited.headers.get("x-ms-incomplete") == ("true" if is_incomplete else None)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.behaviour("http.broken-off")
async def test_an_answer_whose_stream_ends_without_its_providers_last_word_is_incomplete(client: str) -> None:
    streamed = await Finishing(client).ask(CUT, accept="text/event-stream")

    assert said(last_event(streamed.text)) == (HALF, BROKEN_OFF, True)


SHOWN = {
    "http": '"finish_reason": "length", "incomplete": true',
    "responses": '"incomplete_details": {"reason": "max_output_tokens"}',
    "chat-completions": '"finish_reason": "length"',
    "ag-ui": '"result": {"finishReason": "length", "incomplete": true}',
    "ai-sdk": '"finishReason": "length"',
    "a2a": '"finish_reason": "length", "incomplete": true',
    "mcp": "This answer is incomplete: its finish_reason is length.",
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
@pytest.mark.behaviour("ag-ui.incomplete")
@pytest.mark.behaviour("a2a.incomplete")
@pytest.mark.behaviour("mcp.incomplete")
async def test_every_door_says_so_and_nothing_of_the_kind_of_a_whole_answer(door: Door) -> None:
    app = Finishing(wires=[*WIRES])
    async with client_of(app.host) as http:
        app.model.begin_turn([LENGTH])
        cut = await door.ask(http, "Tell me.", agent="a", thread="t1")
        app.model.begin_turn([Answer("All of it.")])
        whole = await door.ask(http, "Tell me.", agent="a", thread="t2")

    assert (cut.status_code, SHOWN[door.name] in cut.text, HALF in door.text(cut)) == (200, True, True)
    assert (SHOWN[door.name] in whole.text, door.text(whole)) == (False, "All of it.")


@pytest.mark.behaviour("http.incomplete")
async def test_lists_and_the_timeline_say_which_answers_are_incomplete() -> None:
    """The run in the list, its model call and the whole in the timeline, and the entry of the conversation."""
    app = Finishing()
    run_id = (await app.ask(LENGTH)).json()["run_id"]
    await app.ask(Answer("All of it."))
    whole, cut = (await app.send("GET", f"{THREAD}/runs")).json()["runs"]
    timeline = (await app.send("GET", f"{THREAD}/runs/{run_id}/timeline")).json()
    entries = (await app.send("GET", f"{THREAD}/messages")).json()["entries"]
    (call,) = [step for step in timeline["steps"] if step["kind"] == "model_call"]
    (entry,) = [entry for entry in entries if entry.get("incomplete")]

    assert ("incomplete" in whole, cut["incomplete"], entry["run_id"]) == (False, True, run_id)
    assert [(each["finish_reason"], each["incomplete"]) for each in (timeline, call, entry)] == [("length", True)] * 3


LOOK = Answer(calls=(Call("look", {"key": "k"}),))


@pytest.mark.behaviour("http.incomplete")
async def test_a_run_that_reached_the_limit_of_its_tool_calls_says_so() -> None:
    """The framework's own sentence stands in the place of an answer."""
    answer = (await Finishing(tools="one").ask(LOOK)).json()

    assert (answer["finish_reason"], answer["incomplete"]) == ("tool_limit", True)


class _Failing(Responses):
    """Fails in the middle of each answer."""

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        error = {"code": "server_error", "message": "a secret"}
        return {**super().reply(answer, number), "status": "failed", "error": error}


@FORMS
@pytest.mark.behaviour("http.incomplete")
async def test_an_answer_that_its_provider_calls_failed_is_none(accept: str) -> None:
    app = Finishing("responses")
    app.model.wire = _Failing()

    body = body_of(await app.ask(Answer(HALF), accept=accept))

    assert (body["code"], "secret" in body["detail"]) == ("run_failed", False)


@pytest.mark.behaviour("http.incomplete")
async def test_a_refusal_is_no_answer_in_the_form_that_was_asked_for() -> None:
    app = Finishing()
    app.model.wire = Refusing()
    refused = (await app.ask(Answer("No."), response_format={"type": "object"})).json()

    assert refused["detail"].startswith("The answer is incomplete (finish_reason 'refusal'). ")


class _CutCalls(ChatCompletions):
    """Is cut in the call of each answer with one."""

    def __init__(self, arguments: str, *, finish: str | None) -> None:
        self._arguments, self._finish = arguments, finish

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        body = super().reply(answer, number)
        choice = body["choices"][0]
        for call in choice["message"].get("tool_calls", ()):
            call["function"]["arguments"], choice["finish_reason"] = self._arguments, self._finish
        return body

    def events(self, answer: Answer, number: int) -> list[str]:
        if not answer.calls:
            return super().events(answer, number)
        *chunks, last = super().events(replace(answer, is_cut=True), number)
        chunk = json.loads(last.removeprefix("data: "))
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = self._arguments
        return [*chunks, f"data: {json.dumps(chunk)}\n\n"]


CALLS = Answer(calls=(Call("start", {"speed": 1}),))


def starting() -> Finishing:
    """An app whose agent has a tool that needs no arguments."""
    app = Finishing(tools="none")

    @tool
    async def start(speed: int = 9) -> str:
        """Start the machine."""
        await app.setting.work(f"start {speed}")
        return "started"

    agent = agent_of(app.setting)
    agent.default_options["tools"] = [start]
    app.host = DirectHost(app_of(agent))
    return app


@pytest.mark.parametrize("arguments", ["", '{"spe'])
@pytest.mark.parametrize(("accept", "finish"), [("application/json", "length"), ("text/event-stream", None)])
@pytest.mark.behaviour("http.cut-calls")
async def test_a_call_that_was_cut_in_its_arguments_is_not_made_without_them(
    accept: str, finish: str | None, arguments: str
) -> None:
    app = starting()
    app.model.wire = _CutCalls(arguments, finish=finish)

    body = body_of(await app.ask(CALLS, Answer("Done."), accept=accept))

    assert (body["code"], app.setting.done) == ("run_failed", [])


@pytest.mark.behaviour("http.cut-calls")
async def test_a_call_without_arguments_is_made_where_the_model_ended_its_answer() -> None:
    app = starting()
    app.model.wire = _CutCalls("", finish="stop")

    assert said((await app.ask(CALLS, Answer("Done."))).json()) == ("Done.", "stop", False)
    assert app.setting.done == ["start 9"]


@pytest.mark.behaviour("journal.finish-reasons")
async def test_a_run_that_is_taken_over_has_the_reasons_that_were_recorded(tmp_path: Path) -> None:
    """A process dies in the tool; the one after it replays the call before and gets the answer."""

    app = Finishing(environ={"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}, tools="one")
    died = asyncio.Event()

    def dies() -> asyncio.Future[None]:
        died.set()
        return asyncio.get_running_loop().create_future()

    app.setting.before_tool = dies
    run_id = (await app.ask(LOOK, LENGTH, wait_for_response=False)).json()["run_id"]
    await asyncio.wait_for(died.wait(), 5)
    app.setting.before_tool = lambda: None
    dead, app.host = app.host, app.process()
    app.host.entities.take_over(dead.entities)
    await asyncio.wait_for(app.host.entities.idle(), 15)

    read = (await app.send("GET", f"{THREAD}/runs/{run_id}")).json()
    timeline = (await app.send("GET", f"{THREAD}/runs/{run_id}/timeline")).json()

    assert said(read) == (HALF, "length", True)
    reasons = [step["finish_reason"] for step in timeline["steps"] if step["kind"] == "model_call"]
    assert reasons == ["tool_calls", "length"]
    assert len(app.model.turns[-1]) == 2


def openai_of(app: Finishing) -> AsyncOpenAI:
    """Return OpenAI's client of the app."""
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app.host.asgi))
    return AsyncOpenAI(api_key="unused", base_url="http://app.example/api/openai/v1", http_client=http, max_retries=0)


@pytest.mark.parametrize(("reason", "word"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
@pytest.mark.behaviour("responses.incomplete")
async def test_a_response_is_incomplete_with_its_reason(reason: Finish, word: str) -> None:
    """Created, read again and streamed; its message is incomplete too, and it was never completed."""
    app = Finishing(wires=["responses"])
    app.model.begin_turn([Answer(HALF, finish=reason)])

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


@pytest.mark.behaviour("mcp.incomplete")
async def test_a_result_of_the_tool_says_so_in_text_and_in_structure() -> None:
    app = Finishing(enable_mcp_tool_trigger=True)
    app.model.begin_turn([LENGTH])

    result = await app.host.call_tool("a", {"query": "Tell me."})
    structure = result["structuredContent"]
    (announced,) = [one["outputSchema"] for one in app.host.bindings["mcptool-a"] if "outputSchema" in one]

    assert result["content"][0]["text"].startswith(HALF)
    assert (structure["response"], structure["finish_reason"], structure["incomplete"]) == (HALF, "length", True)
    jsonschema.validate(structure, json.loads(announced))


@pytest.mark.behaviour("webhooks.incomplete")
async def test_a_webhook_says_whether_the_answer_is_whole() -> None:
    async with receiving() as receiver:
        app = Finishing(environ=WEBHOOKS, webhook=receiver.url)
        await app.ask(LENGTH)
        told = (await receiver.next()).message

    data = told["data"]
    assert (told["type"], data["finish_reason"], data["incomplete"]) == ("run.completed", "length", True)


class Asks(Executor):
    """Asks an agent by itself, and yields its whole response."""

    def __init__(self, agent: Agent[Any]) -> None:
        super().__init__("asks")
        self._asked = agent

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Never, AgentResponse[Any]]) -> None:
        await ctx.yield_output(await self._asked.run(text))


def asks_one(app: Finishing) -> Workflow:
    return WorkflowBuilder(start_executor=Asks(agent_of(app.setting)), name="Flow").build()


def asks_two(app: Finishing) -> Workflow:
    first, second = [AgentExecutor(agent_of(app.setting), id=name) for name in ("first", "next")]
    return (
        WorkflowBuilder(start_executor=first, name="Flow", output_from=[first, second]).add_edge(first, second).build()
    )


@FORMS
@pytest.mark.parametrize(("flow", "reason"), [(asks_one, "length"), (asks_one, "refusal"), (asks_two, "length")])
@pytest.mark.behaviour("workflows.incomplete")
async def test_an_answer_of_a_workflow_is_incomplete_where_one_of_its_agents_was_cut(
    flow: Any, reason: str, accept: str
) -> None:
    """Also where an executor asks the agent by itself, and yields the response."""
    app = Finishing()
    app.model.wire = app.model.wire if reason == "length" else Refusing()
    app.host = DirectHost(app_of(workflows=[lambda: flow(app)]))
    app.model.begin_turn([LENGTH if reason == "length" else Answer("No."), Answer("All of it.")])

    body = body_of(await app.send("POST", "/api/workflows/Flow/run", {"message": "Tell me."}, accept=accept))

    assert (body["finish_reason"], body["incomplete"]) == (reason, True)
