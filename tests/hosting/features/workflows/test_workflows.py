"""Workflows over HTTP: given, answered, failed, cancelled, streamed, and refused at start-up."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from agent_framework import (
    Case,
    Default,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
)

from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.event_stream import parse
from tests.support.flows import FLOWS, Reversed, Upper, hoarding_flow, order_flow, text_flow
from tests.support.made_app import app_of, served


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with served(app_of(scripted_agent("Joker"), workflows=FLOWS, enable_mcp_tool_trigger=True)) as (_, http):
        yield http


async def run(http: httpx.AsyncClient, name: str, **fields: Any) -> httpx.Response:
    headers = fields.pop("headers", {})
    return await http.post(f"/api/workflows/{name}/run", json=fields, headers=headers)


@pytest.mark.behaviour("workflows.run")
async def test_a_workflow_answers_what_its_executors_yield(http: httpx.AsyncClient) -> None:
    answer = await run(http, "Text", message="abc", thread_id="t")

    body = answer.json()
    assert answer.status_code == 200, body
    assert (body["status"], body["response"], body["message"]) == ("success", "CBA", "abc")
    assert "value" not in body
    status = await http.get(f"/api/workflows/Text/threads/t/runs/{body['run_id']}")
    assert status.json() == body
    assert (await http.get(f"/api/agents/Text/threads/t/runs/{body['run_id']}")).json()["code"] == "unknown_agent"
    assert (await http.get("/api/workflows/Joker/threads")).json()["code"] == "unknown_agent"
    unknown = [(await http.get(f"/api/workflows/Text/threads/nope{route}")).json() for route in ("", "/erasure")]
    assert [one["detail"].partition(".")[0] for one in unknown] == [
        "There is no thread 'nope' of 'text'",
        "There is no deletion receipt of thread 'nope' of 'text'",
    ]


def branching() -> Workflow:
    """Return a workflow with each kind of edge and of executor: a switch, a condition, a selection and a loop."""
    first, inner, last = Upper("first"), WorkflowExecutor(text_flow(), id="inner"), Upper("last")
    builder = WorkflowBuilder(name="Branching", start_executor=first)
    builder = builder.add_switch_case_edge_group(first, [Case(lambda text: text == "A", inner), Default(last)])
    builder = builder.add_edge(inner, last).add_edge(last, first, condition=lambda text: text == "again")
    return builder.add_multi_selection_edge_group(
        last, [inner, Reversed("end")], selection_func=lambda text, ids: ids[:1]
    ).build()


@pytest.mark.behaviour("workflows.graph")
async def test_the_graph_of_a_workflow_is_listed() -> None:
    """Each executor with its kind, each edge with its own; none of the framework's edges to an executor itself."""
    async with served(app_of(workflows=[*FLOWS, branching])) as (_, http):
        listed = (await http.get("/api/workflows")).json()["workflows"]

    graphs = {one["name"]: one["graph"] for one in listed}
    edges = {
        name: [(edge["source"], edge["kind"], edge["target"]) for edge in graph["edges"]]
        for name, graph in graphs.items()
    }
    assert graphs["Text"] == {
        "start": "upper",
        "executors": [{"id": "upper", "kind": "code"}, {"id": "reversed", "kind": "code"}],
        "edges": [{"source": "upper", "target": "reversed", "kind": "direct"}],
    }
    assert edges["Fan"] == [
        ("spread", "fan_out", "Left"),
        ("spread", "fan_out", "Right"),
        ("Left", "fan_in", "joined"),
        ("Right", "fan_in", "joined"),
    ]
    assert edges["Branching"] == [
        ("first", "switch", "inner"),
        ("first", "switch", "last"),
        ("inner", "direct", "last"),
        ("last", "conditional", "first"),
        ("last", "conditional", "inner"),
        ("last", "conditional", "end"),
    ]
    kinds = {one["id"]: one["kind"] for name in ("Fan", "Branching") for one in graphs[name]["executors"]}
    assert (kinds["Left"], kinds["spread"], kinds["inner"], kinds["last"]) == ("agent", "code", "workflow", "code")


INPUTS = [{"input": {"item": "tea", "count": 2}}, {"message": '{"item": "tea", "count": 2}'}]


@pytest.mark.behaviour("workflows.values")
@pytest.mark.behaviour("workflows.input")
async def test_an_input_becomes_the_type_of_the_start_executor(http: httpx.AsyncClient) -> None:
    for fields in INPUTS:
        body = (await run(http, "Orders", **fields)).json()

        assert body["value"] == {"item": "tea", "total": 6}
        assert body["response"] == '{"item": "tea", "total": 6}'


WRONG_INPUTS: list[tuple[Any, ...]] = [
    ("Orders", {"input": {"count": 2}}, "invalid_input", "item: Field required"),
    ("Orders", {"input": {"item": "x", "count": "secret"}}, "invalid_input", "count: Input should be a valid int"),
    ("Orders", {"message": "tea please"}, "invalid_input", "Invalid JSON"),
    ("Text", {"input": {"item": "tea"}}, "invalid_input", "This workflow takes a message."),
    ("Text", {"input": "a", "message": "b"}, "invalid_field", "Send one of them."),
    ("Text", {"message": "a", "response_format": {"type": "object"}}, "unknown_field", "'response_format'"),
    ("Text", {}, "missing_message", "There is no message."),
]


@pytest.mark.behaviour("workflows.input")
async def test_an_input_that_is_none_is_refused(http: httpx.AsyncClient) -> None:
    for name, fields, code, sentence in WRONG_INPUTS:
        answer = await run(http, name, **fields)

        body = answer.json()
        assert (answer.status_code, body["code"]) == (400, code)
        assert sentence in body["detail"]
        assert "secret" not in body["detail"]
        assert "run_id" not in body


@pytest.mark.behaviour("workflows.thread")
async def test_the_next_run_on_a_thread_is_given_the_conversation(http: httpx.AsyncClient) -> None:
    """Only what was said: the graph of each run is a new one."""
    first = (await run(http, "Chat", message="say one", thread_id="c")).json()
    again = (await run(http, "Chat", message="recall", thread_id="c")).json()

    assert first["response"].startswith("one\n\n")
    assert again["response"].startswith("say one | recall")
    messages = (await http.get("/api/workflows/Chat/threads/c/messages")).json()["entries"]
    assert [entry["type"] for entry in messages] == ["request", "response", "request", "response"]


@pytest.mark.behaviour("workflows.one-voice")
async def test_agents_side_by_side_are_joined(http: httpx.AsyncClient) -> None:
    """Fan-out and fan-in; only the executor that the workflow names is heard."""
    body = (await run(http, "Fan", message="say hi")).json()

    assert body["response"] == "hi + hi"


@pytest.mark.behaviour("workflows.failures")
async def test_an_executor_that_raises_fails_the_run(http: httpx.AsyncClient) -> None:
    """As an agent's failure; what it raised stays in the log."""
    answer = await run(http, "Text", message="fail")

    body = answer.json()
    assert (answer.status_code, body["code"]) == (500, "run_failed")
    assert "Workflow 'Text' failed" in body["detail"]
    assert "secret" not in answer.text


@pytest.mark.behaviour("workflows.verbs")
async def test_a_workflow_that_takes_too_long_is_stopped() -> None:
    environ = {"AGENT_LOG": "memory", "AGENT_RUN_TIMEOUT_SECONDS": "0.2"}
    async with served(app_of(workflow=text_flow, environ=environ)) as (_, http):
        answer = await run(http, "Text", message="wait")

    assert (answer.status_code, answer.json()["code"]) == (504, "run_timed_out")


@pytest.mark.behaviour("workflows.executors")
async def test_what_each_executor_did_is_in_the_stream_and_in_the_timeline(http: httpx.AsyncClient) -> None:
    streamed = await http.post(
        "/api/workflows/Text/run", json={"message": "abc"}, headers={"accept": "text/event-stream"}
    )
    timeline = (await http.get(f"{streamed.headers['content-location'].removesuffix('/events')}/timeline")).json()

    frames = [frame.fields for frame in parse(streamed.text) if frame.event == "superstep"]
    told = [(one["superstep"], [(call["executor"], call["yielded"]) for call in one["executors"]]) for one in frames]
    steps = [step for step in timeline["steps"] if step["kind"] == "executor"]
    assert told == [(1, [("upper", 0)]), (2, [("reversed", 1)])]
    assert [(step["executor"], step["superstep"], step["yielded"], step["asked"]) for step in steps] == [
        ("upper", 1, 0, 0),
        ("reversed", 2, 1, 0),
    ]
    assert all(step["at"] <= step["ended_at"] for step in steps)


def told(text: str) -> list[tuple[str, str]]:
    """Return what a stream says of single executors, and how it ends."""
    frames = parse(text)
    return [(frame.event, frame.fields["executor"]) for frame in frames if frame.event.startswith("executor_")]


@pytest.mark.behaviour("workflows.at-work")
async def test_executors_that_begin_end_and_fail_are_in_the_stream(http: httpx.AsyncClient) -> None:
    headers = {"accept": "text/event-stream"}
    good = await http.post("/api/workflows/Text/run", json={"message": "abc"}, headers=headers)
    bad = await http.post("/api/workflows/Text/run", json={"message": "fail"}, headers=headers)
    url = bad.headers["content-location"].removesuffix("/events")
    steps = (await http.get(f"{url}/timeline")).json()["steps"]
    again = await http.get(f"{url}/events")

    assert told(good.text) == [
        ("executor_invoked", "upper"),
        ("executor_completed", "upper"),
        ("executor_invoked", "reversed"),
        ("executor_completed", "reversed"),
    ]
    failed = [("executor_invoked", "upper"), ("executor_failed", "upper")]
    assert (told(bad.text), told(again.text)) == (failed, failed)
    (step,) = [step for step in steps if step["kind"] == "executor"]
    assert (step["executor"], step["superstep"], step["error"]) == ("upper", 1, "The executor failed.")
    assert steps[-1]["kind"] == "ended"
    assert "secret" not in bad.text + json.dumps(steps)


class Silent(Executor):
    """Takes what no request can bring."""

    @handler
    async def take(self, given: asyncio.Event, ctx: WorkflowContext) -> None:
        """Do nothing."""


SHARED = Silent("silent")


def no_workflow() -> Any:
    return scripted_agent("Joker")


def unnamed() -> Workflow:
    return WorkflowBuilder(start_executor=Silent("silent")).build()


def shared() -> Workflow:
    """Return a workflow of an executor that the one before has too."""
    return WorkflowBuilder(name="Shared", start_executor=SHARED).build()


def closed() -> Workflow:
    return WorkflowBuilder(name="Closed", start_executor=Silent("silent")).build()


@pytest.mark.behaviour("workflows.refused")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"workflow": no_workflow}, "no_workflow() returned a Agent. Return the Workflow that it builds."),
        ({"workflow": unnamed}, "The workflow of 'silent' has no name."),
        ({"workflow": shared}, "shared() gives executor 'silent' to every workflow 'Shared' that it builds"),
        ({"workflow": closed}, "The start executor 'silent' of workflow 'Closed' takes Event"),
        ({"workflows": [order_flow, order_flow]}, "Two workflows are named 'Orders' and 'Orders'"),
        ({"workflows": {"Sales": order_flow}}, "workflows has 'Sales' for the workflow 'Orders'."),
    ],
)
def test_what_cannot_be_hosted_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_of(*options.pop("agents", ()), **options)

    assert sentence in refused.value.detail


@pytest.mark.behaviour("workflows.checkpoint-kept")
async def test_a_run_whose_state_could_not_be_read_again_stops_there(caplog: pytest.LogCaptureFixture) -> None:
    """The framework only logs it; here the next executor is not run."""
    async with served(app_of(workflow=hoarding_flow)) as (_, http):
        answer = await run(http, "Hoard", message="x")

    assert (answer.status_code, answer.json()["code"]) == (500, "checkpoint_not_kept")
    assert "superstep 1" in answer.json()["detail"]
    assert "tests.support.flows:Secret" in caplog.text
    assert "the run went on" not in caplog.text
