"""An answer that is no whole one says so over HTTP, for each provider's client."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_framework import tool

from hosting.core.thread.finish import BROKEN_OFF
from tests.fidelity.anthropic_messages import AnthropicMessages
from tests.fidelity.chat_completions import ChatCompletions
from tests.fidelity.features import agent_of
from tests.fidelity.finishing import CLIENTS, CUT, HALF, THREAD, Finishing, Refusing, last_event
from tests.fidelity.responses import Responses
from tests.fidelity.script import Answer, Call, Finish
from tests.support.direct import DirectHost
from tests.support.made_app import app_of

LENGTH = Answer(HALF, finish="length")


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


@pytest.mark.behaviour("http.incomplete")
async def test_lists_and_the_timeline_say_which_answers_are_incomplete() -> None:
    """The run in the list, its model call and the whole in the timeline, and the entry of the conversation."""
    app = Finishing()
    run_id = (await app.ask(LENGTH)).json()["run_id"]
    await app.ask(Answer("All of it."))

    whole, cut = (await app.send("GET", f"{THREAD}/runs")).json()["runs"]
    timeline = (await app.send("GET", f"{THREAD}/runs/{run_id}/timeline")).json()
    entries = (await app.send("GET", f"{THREAD}/messages")).json()["entries"]

    assert ("incomplete" in whole, cut["incomplete"]) == (False, True)
    assert (timeline["finish_reason"], timeline["incomplete"]) == ("length", True)
    (call,) = [step for step in timeline["steps"] if step["kind"] == "model_call"]
    assert (call["finish_reason"], call["incomplete"]) == ("length", True)
    by_run = {entry["run_id"]: entry for entry in entries if entry["type"] == "response"}
    assert (by_run[run_id]["finish_reason"], by_run[run_id]["incomplete"]) == ("length", True)
    assert [entry.get("incomplete") for entry in by_run.values()].count(True) == 1


@pytest.mark.behaviour("http.incomplete")
async def test_a_run_that_reached_the_limit_of_its_tool_calls_says_so() -> None:
    """The framework's own sentence stands in the place of an answer."""
    calls = Answer(calls=(Call("look", {"key": "k"}),))
    app = Finishing(tools="one")

    answer = (await app.ask(calls)).json()

    assert (answer["finish_reason"], answer["incomplete"]) == ("tool_limit", True)


class _Failing(Responses):
    """Fails in the middle of each answer."""

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        error = {"code": "server_error", "message": "a secret"}
        return {**super().reply(answer, number), "status": "failed", "error": error}


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.behaviour("http.incomplete")
async def test_an_answer_that_its_provider_calls_failed_is_none(accept: str) -> None:
    app = Finishing("responses")
    app.model.wire = _Failing()

    reply = await app.ask(Answer(HALF), accept=accept)

    body = last_event(reply.text) if accept == "text/event-stream" else reply.json()
    assert (body["code"], "secret" in body["detail"]) == ("run_failed", False)


@pytest.mark.behaviour("http.incomplete")
async def test_a_refusal_is_no_answer_in_the_form_that_was_asked_for() -> None:
    app = Finishing()
    app.model.wire = Refusing()

    refused = (await app.ask(Answer("I will not."), response_format={"type": "object"})).json()

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

    reply = await app.ask(CALLS, Answer("Done."), accept=accept)

    body = last_event(reply.text) if accept == "text/event-stream" else reply.json()
    assert (body["code"], app.setting.done) == ("run_failed", [])


@pytest.mark.behaviour("http.cut-calls")
async def test_a_call_without_arguments_is_made_where_the_model_ended_its_answer() -> None:
    app = starting()
    app.model.wire = _CutCalls("", finish="stop")

    answer = (await app.ask(CALLS, Answer("Done."))).json()

    assert (said(answer), app.setting.done) == (("Done.", "stop", False), ["start 9"])


@pytest.mark.behaviour("journal.finish-reasons")
async def test_a_run_that_is_taken_over_has_the_reasons_that_were_recorded(tmp_path: Path) -> None:
    """A process dies in the tool; the one after it replays the call before and gets the answer."""

    app = Finishing(environ={"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}, tools="one")
    died = asyncio.Event()

    def dies() -> asyncio.Future[None]:
        died.set()
        return asyncio.get_running_loop().create_future()

    app.setting.before_tool = dies
    calls = Answer(calls=(Call("look", {"key": "k"}),))
    run_id = (await app.ask(calls, LENGTH, wait_for_response=False)).json()["run_id"]
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
