"""The agent as an MCP tool: the function called directly, and the official client on the local host."""

import json
import re
from typing import Any

import httpx
import jsonschema
import pytest
from agent_framework import Agent
from mcp import ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel

from hosting.app import Budget
from hosting.errors import ConfigurationError
from hosting.http.mcp_tool import parse_call
from tests.support.app.scripted import ScriptedClient, scripted_agent
from tests.support.carriers import Api
from tests.support.direct import DirectHost, SignalClient
from tests.support.flows import text_flow
from tests.support.made_app import MEMORY, app_of, ask, triggers
from tests.support.receiver import WEBHOOKS, receiving
from tests.support.running_host import RunningHost
from tests.support.spender import spender


def tool_host(*agents: Any, environ: Any = None, **options: Any) -> DirectHost:
    """Return an app whose agents, without others Joker, are tools."""
    served = () if "workflow" in options else agents or (scripted_agent("Joker"),)
    return DirectHost(app_of(*served, enable_mcp_tool_trigger=True, environ={**MEMORY, **(environ or {})}, **options))


@pytest.mark.behaviour("mcp.answers")
async def test_a_tool_call_answers_in_text_and_in_structure(direct_host: DirectHost) -> None:
    """The structure holds the ids with which the caller goes on."""
    result = await direct_host.call_tool("Joker", {"query": "hello"})

    structure = result["structuredContent"]
    assert result == {
        "content": [{"type": "text", "text": "echo: hello"}],
        "structuredContent": {
            "response": "echo: hello",
            "thread_id": structure["thread_id"],
            "run_id": structure["run_id"],
            "finish_reason": None,
            "incomplete": False,
        },
        "isError": False,
    }


class Unexpected:
    """A context of an invocation that is not as a worker gives it."""

    @property
    def invocation_id(self) -> str:
        raise RuntimeError("canary")


@pytest.mark.behaviour("mcp.failed-run")
async def test_whatever_the_function_meets_is_told_in_a_sentence_of_ours(direct_host: DirectHost) -> None:
    """A host in Development shows callers what a tool's function raises, so it raises nothing."""
    tool = direct_host.functions["mcptool-Joker"].get_user_function().client_function

    text = await tool(call="{}", client=SignalClient(direct_host.entities), context=Unexpected())

    result = json.loads(json.loads(text)["content"])
    assert result["content"][0]["text"] == "The app failed on this call. Its log has the cause."
    assert (result["structuredContent"], result["isError"]) == ({"code": "internal_error"}, True)


class Weather(BaseModel):
    """What an agent has as a format of its own."""

    city: str
    degrees: int


def formatted_agent(response_format: Any) -> Agent[Any]:
    """Return an agent that answers in a format whatever it is asked for."""
    return Agent(ScriptedClient(), name="Joker", default_options={"response_format": response_format})


@pytest.mark.behaviour("mcp.output-schema")
@pytest.mark.parametrize("given", [Weather, Weather.model_json_schema()], ids=["a model", "a schema"])
async def test_an_agent_with_a_format_of_its_own_gives_the_value(given: Any) -> None:
    """Over MCP and over HTTP, checked; the tool announces it."""
    host = tool_host(formatted_agent(given))
    (announced,) = [one["outputSchema"] for one in host.bindings["mcptool-Joker"] if one["type"] == "mcpToolTrigger"]
    right, short = 'say {"city": "Oslo", "degrees": 3}', 'say {"city": "Oslo"}'
    result, wrong = [await host.call_tool("Joker", {"query": query}) for query in (right, short)]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(host.asgi), base_url="http://app.example") as http:
        over_http = await ask(http, right)

    assert result["structuredContent"]["value"] == over_http.json()["value"] == {"city": "Oslo", "degrees": 3}
    assert (wrong["isError"], wrong["structuredContent"]["code"]) == (True, "invalid_output")
    assert json.loads(announced)["properties"]["value"] == Weather.model_json_schema()
    for one in (result, wrong):
        jsonschema.validate(one["structuredContent"], json.loads(announced))


@pytest.mark.behaviour("mcp.output-schema")
async def test_a_format_that_cannot_be_checked_is_the_agents_own_matter(caplog: pytest.LogCaptureFixture) -> None:
    """As before it was looked at: the app starts and the agent answers; the log says so."""
    host = tool_host(formatted_agent({"type": "object", "properties": {"a": {"pattern": "(?=x)"}}}))

    result = await host.call_tool("Joker", {"query": "say plain"})

    assert (result["isError"], "value" in result["structuredContent"]) == (False, False)
    assert "The response_format of agent Joker is not checked" in caplog.text


@pytest.mark.behaviour("mcp.agent-options")
async def test_a_tools_runs_count_for_its_agents_budget_and_notify_its_webhook() -> None:
    async with receiving() as receiver:
        host = tool_host(spender(), budget=Budget(tokens=80), webhook=receiver.url, environ=WEBHOOKS)
        refused = await host.call_tool("Joker", {"query": "5"})
        told = (await receiver.next()).verified()
        await host.entities.idle()

    assert (refused["isError"], refused["structuredContent"]["code"]) == (True, "budget_exceeded")
    assert (told["type"], told["data"]["run_id"]) == ("run.failed", refused["structuredContent"]["run_id"])


@pytest.mark.behaviour("mcp.failed-run")
async def test_a_run_that_outlives_the_wait_is_a_tool_error_that_says_how_to_go_on() -> None:
    """MCP has no 202: the ids lead to the answer, which comes all the same."""
    host = tool_host(environ={"AGENT_WAIT_SECONDS": "0.05"})

    result = await host.call_tool("Joker", {"query": "meet 2"})
    await host.call_tool("Joker", {"query": "meet 2"})

    pending = result["structuredContent"]
    assert (result["isError"], pending["code"]) == (True, "run_pending")
    assert result["content"][0]["text"] == (
        f"The agent has not answered within 0.05 s. Its run {pending['run_id']} continues on thread "
        f"{pending['thread_id']}. Do not send the query again: that would start another run. Call this tool with that "
        "threadId and ask for the answer: the conversation has it once the run has ended."
    )


@pytest.mark.behaviour("hosting.waits-that-fit")
@pytest.mark.parametrize(("setting", "seconds"), [("220", 50.0), ("20", 20.0)])
def test_a_call_waits_for_50_s_at_most_however_long_the_app_may(setting: str, seconds: float) -> None:
    """Nobody chooses the clients that call a tool, and the official ones give up after 60."""
    app = app_of(scripted_agent("Joker"), environ={**MEMORY, "AGENT_WAIT_SECONDS": setting})

    assert app._services.runs.wait_seconds(parse_call({"query": "go"}, "Joker").wait) == seconds


@pytest.mark.behaviour("hosting.waits-that-fit")
async def test_the_output_of_a_workflow_that_outlived_a_call_is_read_over_http() -> None:
    host = tool_host(workflow=text_flow, environ={"AGENT_WAIT_SECONDS": "0"})
    result = await host.call_tool("Text", {"query": "go"})

    ids = result["structuredContent"]
    ends = f"GET workflows/Text/threads/{ids['thread_id']}/runs/{ids['run_id']} of the app's HTTP interface."
    assert result["content"][0]["text"].startswith("The workflow has not answered within 0 s. ")
    assert result["content"][0]["text"].endswith(ends)


@pytest.mark.behaviour("mcp.bad-arguments")
async def test_a_call_of_more_bytes_than_a_request_may_have_is_a_tool_error_and_no_run() -> None:
    """The extension lets much more through than an app keeps; a call within the limit is answered."""
    host = tool_host(environ={"AGENT_MAX_BODY_BYTES": "4000"})

    huge, large, small = [await host.call_tool("Joker", {"query": "é" * size}) for size in (100_000, 2001, 2000)]

    refused = {"code": "body_too_large"}
    assert [answer["structuredContent"] for answer in (huge, large)] == [refused, refused]
    assert large["content"][0]["text"] == "The tool call has 4002 bytes; the limit is 4000. Send less."
    assert (huge["isError"], large["isError"], small["isError"]) == (True, True, False)


@pytest.mark.behaviour("mcp.bad-arguments")
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"query": ["a"]}, "invalid_field", "'query'"),
        ({"query": "hi", "threadId": 5}, "invalid_field", "'threadId'"),
        ({"query": "hi", "sessionId": {}}, "invalid_field", "'sessionId'"),
        ({"query": "  "}, "missing_message", "'query'"),
        ({}, "missing_message", "'query'"),
        ({"query": "\ud800"}, "invalid_encoding", "surrogate"),
        ({"query": "hi", "threadId": "a/b"}, "invalid_thread_id", "'a/b'"),
        ({"query": "hi", "sessionId": "a/b"}, "invalid_thread_id", "'a/b'"),
        ({"query": "hi", "threadId": "a", "sessionId": "b"}, "conflicting_thread_ids", "'a' and 'b'"),
    ],
)
async def test_an_ill_typed_argument_is_a_tool_error_that_names_it(
    direct: Api, direct_host: DirectHost, arguments: dict[str, Any], code: str, says: str
) -> None:
    """And nothing is stored."""
    before = await direct.stored()

    result = await direct_host.call_tool("Joker", arguments)

    assert (result["isError"], result["structuredContent"]) == (True, {"code": code})
    assert says in result["content"][0]["text"]
    assert await direct.stored() == before


@pytest.mark.behaviour("mcp.options")
def test_an_agent_is_a_tool_by_its_own_switch_name_and_description() -> None:
    """What is left out comes from the agent; the function keeps the agent's name."""
    app = app_of()
    app.add_agent(scripted_agent("plain"), enable_mcp_tool_trigger=True)
    app.add_agent(scripted_agent("silent"))
    own = {"mcp_tool_name": "tell_joke", "mcp_tool_description": "Tells a joke."}
    app.add_agent(scripted_agent("Joker"), enable_mcp_tool_trigger=True, **own)
    bound = {name: trigger for name, trigger in triggers(app).items() if trigger["type"] == "mcpToolTrigger"}
    tools = {name: (trigger["toolName"], trigger["description"]) for name, trigger in bound.items()}

    assert tools == {
        "mcptool-plain": ("plain", "The scripted plain."),
        "mcptool-Joker": ("tell_joke", "Tells a joke."),
    }


@pytest.mark.behaviour("mcp.options")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mcp_tool_name": "FIRST"}, "The agents 'first' and 'second' would both be the MCP tool 'FIRST'"),
        ({"mcp_tool_name": "tell joke"}, "mcp_tool_name 'tell joke' of agent 'second' cannot be a tool's name. "),
        ({"mcp_tool_name": ""}, "mcp_tool_name '' of agent 'second' cannot be a tool's name. "),
        ({"mcp_tool_name": "a" * 65}, "cannot be a tool's name. "),
        ({"mcp_tool_description": " "}, "mcp_tool_description of agent 'second' is blank."),
        ({"mcp_tool_name": "other", "enable_mcp_tool_trigger": False}, "agent 'second', which is not an MCP tool."),
        ({"mcp_tool_description": "x", "enable_mcp_tool_trigger": False}, "agent 'second', which is not an MCP tool."),
    ],
)
def test_a_tool_that_cannot_be_is_refused_at_start(options: dict[str, Any], says: str) -> None:
    """By a sentence that names the agents; and the app does not get half of the agent."""
    app = app_of(scripted_agent("first"), enable_mcp_tool_trigger=True)

    with pytest.raises(ConfigurationError, match=re.escape(says)):
        app.add_agent(scripted_agent("second"), **options)

    assert list(app.agents) == ["first"]


@pytest.mark.slow
@pytest.mark.behaviour("mcp.no-way-back")
async def test_the_official_client_lists_the_tools_goes_on_and_stops_its_wait_and_not_the_run(
    socket_host: RunningHost,
) -> None:
    """A failed run is a tool error in our words. The extension hands a function no way to send progress.

    And a notice of cancellation changes nothing.
    """
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    url = f"{socket_host.origin}/runtime/webhooks/mcp"
    async with streamable_http_client(url) as streams, ClientSession(*streams[:2]) as client:
        await client.initialize()
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        first: Any = await client.call_tool("Joker", {"query": "my name is Ada"}, progress_callback=note)
        thread = {"threadId": first.structured_content["thread_id"]}
        with pytest.raises(MCPError, match=r"(?i)timed out"):
            await client.call_tool("Joker", {"query": "sleep 0.5", **thread}, read_timeout_seconds=0.1)
        second: Any = await client.call_tool("Joker", {"query": "recall", **thread})
        failed: Any = await client.call_tool("Joker", {"query": "fail"})

    assert set(tools) == {"Joker", "quiet"}
    assert tools["Joker"].description == "The scripted Joker."
    assert set(tools["Joker"].input_schema["properties"]) == {"query", "threadId", "sessionId"}
    assert tools["Joker"].input_schema["required"] == ["query"]
    assert (first.is_error, first.structured_content["response"], seen) == (False, "echo: my name is Ada", [])
    assert second.structured_content["response"] == "my name is Ada | sleep 0.5 | recall"
    assert (failed.is_error, failed.structured_content["code"]) == (True, "run_failed")
    assert "The log has more at run" in str(failed)
