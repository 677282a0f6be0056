"""What official clients see of a run that takes longer than they wait, against a host whose times are as much shorter.

The app waits half a second where it waits 50, a stream is silent for a tenth of one where it is for three, and the
clients give up after less than the run takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import httpx2
import pytest
from agent_framework import Message
from agent_framework_openai import OpenAIChatClient
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from openai import AsyncOpenAI

from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("hosting.waits-that-fit")]

APP = """
import hosting.functions.answering
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent

hosting.functions.answering.PING_SECONDS = 0.1
wires = ["responses", "a2a", "ag-ui"]
app = AgentFunctionApp(agents=[scripted_agent("Joker")], wires=wires, enable_mcp_tool_trigger=True)
"""
GIVES_UP_SECONDS = 0.8
"""How long a client waits for a byte: less than the run takes, and more than the app waits."""

LONG = "sleep 1.2"
T = TypeVar("T")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    folder = tmp_path_factory.mktemp("waits")
    (folder / "function_app.py").write_text(APP, encoding="utf-8")
    (folder / "host.json").write_text('{"version": "2.0"}', encoding="utf-8")
    with RunningHost(folder, environ={"AGENT_WAIT_SECONDS": "0.5"}) as running:
        yield running


async def once_there(look: Callable[[], Awaitable[T | None]]) -> T:
    """Return what is there at last; the test's own limit of time is the guard."""
    while (seen := await look()) is None:  # noqa: ASYNC110 - another process has it
        await asyncio.sleep(0.02)
    return seen


async def test_an_mcp_client_has_the_ids_before_it_gives_up_and_then_the_answer(host: RunningHost) -> None:
    """By the conversation, which has it once the run has ended; no second run does the same work."""
    async with (
        streamable_http_client(f"{host.origin}/runtime/webhooks/mcp") as streams,
        ClientSession(*streams[:2], read_timeout_seconds=GIVES_UP_SECONDS) as client,
    ):
        await client.initialize()
        pending: Any = await client.call_tool("Joker", {"query": LONG})
        thread = pending.structured_content["thread_id"]

        async def answered() -> Any:
            result: Any = await client.call_tool("Joker", {"query": "recall", "threadId": thread})
            return None if result.is_error else result.structured_content

        answer = await once_there(answered)

    assert (pending.is_error, pending.structured_content["code"]) == (True, "run_pending")
    assert answer["response"].startswith(f"{LONG} | recall")


async def test_openais_client_streams_a_run_longer_than_it_bears_silence_and_reads_one_that_went_on(
    host: RunningHost,
) -> None:
    """A response that it waits for is `in_progress` before it gives up, and is retrieved by its id.

    agent-framework's client over it has a token for that.
    """
    impatient = httpx2.Timeout(GIVES_UP_SECONDS)
    async with AsyncOpenAI(
        api_key="unused", base_url=f"{host.origin}/api/openai/v1", timeout=impatient, max_retries=0
    ) as client:
        stream = await client.responses.create(model="Joker", input=LONG, stream=True)
        streamed = [event async for event in stream]
        pending = await client.responses.create(model="Joker", input=LONG)

        async def answered() -> str | None:
            return (await client.responses.retrieve(pending.id)).output_text or None

        answer = await once_there(answered)
        chat = OpenAIChatClient(model="Joker", async_client=client)
        empty = await chat.get_response([Message("user", [LONG])])
        token = empty.continuation_token

        async def continued() -> str | None:
            return (await chat.get_response([], options={"continuation_token": token})).text or None

        same = await once_there(continued)

    assert streamed[-1].type == "response.completed"
    assert (pending.status, pending.output_text, answer) == ("in_progress", "", f"echo: {LONG}")
    assert (empty.text, token is not None, same) == ("", True, answer)
