"""What a developer is told on the local host, and nobody on Azure: why a run failed, and which runs a start took up."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import Agent, FunctionInvocationConfiguration, tool
from azurefunctions.extensions.http.fastapi import Request, Response
from starlette.requests import ClientDisconnect

from agents.models import create_chat_client
from hosting.errors import (
    HostingError,
    LogUnavailableError,
    MethodNotAllowedError,
    NewerVersionError,
    TooManyRunsError,
    UnknownThreadError,
)
from hosting.functions.answering import respond
from hosting.http.pings import PING
from hosting.http.replies import Reply, Streamed
from hosting.offline.model import OfflineChatClient
from tests.support.app_folder import HOST_JSON, make_app
from tests.support.made_app import MEMORY, app_of, ask, served
from tests.support.running_host import GUARD_SECONDS, START_GUARD_SECONDS, RunningHost

LOCAL = {"AzureWebJobsScriptRoot": "/app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
APP = """
import asyncio, sys
from pathlib import Path
from agent_framework import Agent, tool
from hosting.offline.model import OfflineChatClient
from hosting.app import AgentFunctionApp
from hosting.tools import idempotent

@idempotent
@tool
async def wait() -> str:
    "Wait for a file."
    print("the tool waits", flush=True)
    while not Path("go").exists():
        await asyncio.sleep(0.05)
    return "seen"

app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="Joker", tools=[wait])])
"""


class Broken(Agent):
    """An agent whose code raises."""

    def run(self, *args, **options):
        raise ValueError("no such\n city")


@pytest.mark.behaviour("http.local-cause")
@pytest.mark.parametrize(
    ("environ", "told"),
    [(LOCAL, " failed: ValueError: no such city. The log has more"), ({}, "; the log has the cause")],
)
async def test_a_failed_run_carries_its_cause_on_the_local_host_alone(environ: dict[str, str], told: str) -> None:
    """In one line; whoever runs the app without a host gets our sentence, as callers on Azure do."""
    app = app_of(Broken(client=None, name="Joker"), environ={**MEMORY, **environ})
    async with served(app) as (_, http):
        problem = (await ask(http, "hi")).json()

    assert (problem["code"], told in problem["detail"]) == ("run_failed", True), problem


@tool
def cancel_order(number: str) -> str:
    """Cancel an order."""
    raise LookupError(f"There is\n no order {number}.")


@tool
async def silent() -> str:
    """Raise without a word."""
    raise ValueError


TOOLS: list[Any] = [cancel_order, silent]
CALL, SILENT = 'Call cancel_order with {"number": "B-1"}', "Call silent with {}"


@pytest.mark.behaviour("template.tools-explain")
async def test_the_templates_model_reads_what_an_exception_says() -> None:
    """As tools.md shows it, whichever model the settings choose."""
    client = create_chat_client({})
    answer = await Agent(client=client, name="Joker", tools=TOOLS).run(CALL)

    assert "There is\n no order B-1." in answer.text
    for settings in (
        {"OPENAI_API_KEY": "k"},
        {"AZURE_OPENAI_ENDPOINT": "https://x.example", "AZURE_OPENAI_API_KEY": "k"},
    ):
        name = "OPENAI_MODEL" if "OPENAI_API_KEY" in settings else "AZURE_OPENAI_MODEL"
        chosen: Any = create_chat_client({**settings, name: "m"})
        assert chosen.function_invocation_configuration["include_detailed_errors"]


@pytest.mark.slow
@pytest.mark.behaviour("service.taken-up-told")
def test_a_host_that_starts_after_a_kill_says_which_run_was_interrupted_and_when_it_goes_on(tmp_path: Path) -> None:
    """At once, though it is taken up only when its claim has run out, because nothing says that its process is dead.

    A run of its own is told by no such line.
    """
    folder = killed_in_a_tool(tmp_path)
    (folder / ".agents" / "log.sqlite-processes").unlink()
    run, call = "/api/agents/Joker/run?thread_id=", "Call wait with {}"
    with RunningHost(folder) as second:
        line = second.wait_for("was interrupted", GUARD_SECONDS)
        later = {"x-ms-wait-for-response": "no"}
        httpx.post(f"{second.origin}{run}own", content=call, headers=later)
        second.wait_for("the tool waits", GUARD_SECONDS)

    assert "of agent joker was interrupted: it is taken up within 27 s, unless another process works on it." in line
    assert second.printed_so_far().count("was interrupted") == 1


def killed_in_a_tool(tmp_path: Path) -> Path:
    """Return the folder of an app whose host was killed while the tool waited, in thread t."""
    folder = make_app(tmp_path, APP, host=HOST_JSON)
    place = "/api/agents/Joker/run?thread_id=t"
    with ThreadPoolExecutor() as pool:
        with RunningHost(folder) as first:
            sent = {"content": "Call wait with {}", "timeout": START_GUARD_SECONDS}
            broken = pool.submit(httpx.post, f"{first.origin}{place}", **sent)
            first.wait_for("the tool waits", GUARD_SECONDS)
        assert isinstance(broken.exception(GUARD_SECONDS), httpx.TransportError)
    return folder


def clerk(configuration: FunctionInvocationConfiguration | None = None) -> Agent:
    """An agent with tools that raise."""
    client = OfflineChatClient(function_invocation_configuration=configuration)
    return Agent(client=client, name="Joker", tools=TOOLS)


@pytest.mark.behaviour("http.local-cause")
@pytest.mark.parametrize(
    ("environ", "message", "told"),
    [
        (LOCAL, CALL, "The tool failed: LookupError: There is no order B-1."),
        (LOCAL, SILENT, "The tool failed: ValueError."),
        ({}, CALL, "The tool failed."),
    ],
)
async def test_what_a_tool_raised_is_in_stream_and_timeline_on_the_local_host_alone(
    environ: dict[str, str], message: str, told: str
) -> None:
    """With its class, in one line; also where the model reads nothing of it."""
    async with served(app_of(clerk(), environ={**MEMORY, **environ})) as (_, http):
        streamed = await ask(http, message, stream=True)
        place = streamed.headers["content-location"].removesuffix("/events")
        events = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: ")]
        steps = (await http.get(f"{place}/timeline")).json()["steps"]
        read = (await http.get(f"{place}/events", params={"offset": "-1"})).json()

    assert [event["error"] for event in events if "tool" in event and "error" in event] == [told]
    assert [frame["data"]["error"] for frame in read if frame["event"] == "tool_result"] == [told]
    assert [step["error"] for step in steps if step["kind"] == "tool_call"] == [told]


async def frames() -> AsyncGenerator[bytes, None]:
    """Yield a silence."""
    yield PING


async def answered(reply: Reply | Streamed | Exception) -> Response:
    """Return the answer to a request whose handler replies or raises that."""
    scope = {"type": "http", "method": "GET", "path": "/api/x", "headers": [], "path_params": {}, "query_string": b""}

    async def work() -> Reply | Streamed:
        if isinstance(reply, Exception):
            raise reply
        return reply

    return await respond(Request(scope), work())


@pytest.mark.behaviour("http.no-store")
@pytest.mark.parametrize(
    ("reply", "cache_control"),
    [
        (Reply(200, "{}", "application/json"), "no-store"),
        (Reply(204, "", None), "no-store"),
        (Streamed(frames(), {}), "no-store"),
        (Streamed(frames(), {"cache-control": "no-cache, no-store"}), "no-cache, no-store"),
        (UnknownThreadError("There is none."), "no-store"),
        (KeyError("a defect"), "no-store"),
    ],
)
async def test_nobody_on_the_way_keeps_an_answer(reply: Reply | Streamed | Exception, cache_control: str) -> None:
    assert (await answered(reply)).headers["cache-control"] == cache_control


@pytest.mark.behaviour("http.slow-bodies")
async def test_a_caller_that_leaves_before_its_request_is_whole_is_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    """The log has no more than a debug line of it, or any caller could fill the log."""
    with caplog.at_level(logging.DEBUG):
        response = await answered(ClientDisconnect())

    assert response.status_code == 400
    assert [record.levelname for record in caplog.records] == ["DEBUG"]


@pytest.mark.behaviour("http.retry-after")
@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (LogUnavailableError(), "1"),
        (LogUnavailableError(retry_after_seconds=0.2), "1"),
        (LogUnavailableError(retry_after_seconds=6.5), "7"),
        (NewerVersionError("A newer version wrote it."), "1"),
        (TooManyRunsError("There are many."), "1"),
        (UnknownThreadError("There is none."), None),
        (MethodNotAllowedError("Not so."), None),
    ],
)
async def test_a_refusal_that_may_not_stand_for_long_says_when_to_ask_again(
    error: HostingError, seconds: str | None
) -> None:
    """As long as the store's own pause, and never at once."""
    assert (await answered(error)).headers.get("retry-after") == seconds
