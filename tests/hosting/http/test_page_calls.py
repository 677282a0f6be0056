"""The commands and programs by which the page says an agent is called: each runs as it stands, with the real client."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    REFUSED,
    ask,
    browsed,
    ended,
    for_everybody,
)
from tests.support.app_folder import make_app
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost

EXAMPLE = """It's "quoted" \\ and $HOME, `x` 😀 <img src=x onerror=hacked()>"""
ANSWER = f"echo: {EXAMPLE}"
APP = f"""
from agent_framework import Agent

from hosting.app import AgentFunctionApp
from hosting.principal import Principal
from tests.support.app.scripted import ScriptedClient
from tests.support.flows import order_flow

EXAMPLE = {EXAMPLE!r}


def signed_in(request):
    return Principal("tests", "ada") if request.headers.get("authorization") == "Bearer of-ada" else None


guide = Agent(ScriptedClient(), "Do as told.", name="Guide", additional_properties={{"example": EXAMPLE}})
app = AgentFunctionApp(
    agents=[guide], workflows=[order_flow], wires=WIRES, enable_mcp_tool_trigger=IS_TOOL, principal=PRINCIPAL
)
"""
WIRES = "['responses', 'chat-completions', 'a2a', 'mcp']"
KEYS = {"master": "m", "host": "host-key", "functions": {}, "system": {"mcp_extension": "t"}}
SHOWN = ["Run", "Stream", "OpenAI client", "Chat Completions", "MCP client", "MCP endpoint", "A2A"]

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.calls")]
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the command uses curl")


def app_in(folder: Path, *, wires: str = WIRES, is_tool: bool = True, principal: str = "None") -> Path:
    source = APP.replace("WIRES", wires).replace("IS_TOOL", str(is_tool)).replace("PRINCIPAL", principal)
    return make_app(folder, source, host=HOST)


async def calls_of(page: Page) -> dict[str, tuple[str, str]]:
    """Return the command and the program of each way that the page shows, by keys alone."""
    await page.get_by_role("button", name="Call it from your code").click()
    await for_everybody(page)
    ways = page.locator("dialog .choices label")
    await page.locator("dialog input").first.focus()
    calls = dict[str, tuple[str, str]]()
    for way in await ways.all_text_contents():
        await expect(page.get_by_role("radio", name=way)).to_be_checked()
        curl, python = await page.locator("dialog pre").all_inner_texts()
        calls[way] = curl, python
        await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Escape")
    return calls


async def printed(*command: str, **environ: str) -> str:
    """Return what a command prints, which is to end well."""
    settings = {**os.environ, **environ}
    ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, env=settings)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


async def answers_of(calls: Mapping[str, tuple[str, str]], **environ: str) -> dict[str, list[str]]:
    """Return what the command and the program of each way print."""

    async def both(curl: str, python: str) -> list[str]:
        shell, program = ("bash", "-c", curl), (sys.executable, "-c", python)
        return await asyncio.gather(printed(*shell, **environ), printed(*program, **environ))

    return {way: await both(*call) for way, call in calls.items()}


def text_of(way: str, body: str) -> str:
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    match way:
        case "Run":
            return str(json.loads(body)["response"])
        case "Stream":
            return str(events[-1]["response"])
        case "OpenAI client":
            return str(json.loads(body)["output"][-1]["content"][0]["text"])
        case "Chat Completions":
            return str(json.loads(body)["choices"][0]["message"]["content"])
        case "MCP client" | "MCP endpoint":
            return str(events[-1]["result"]["structuredContent"]["response"])
        case "AI SDK":
            return "".join(event["delta"] for event in events if event["type"] == "text-delta")
        case _:
            parts = json.loads(body)["result"]["task"]["artifacts"][0]["parts"]
            return "".join(part.get("text", "") for part in parts)


@asynccontextmanager
async def opened(origin: str, place: str, **secrets: str) -> AsyncIterator[Page]:
    """Yield the page, with these put in where it asks for them."""
    async with browsed(origin, REFUSED) as browser:
        page = await browser.open(place)
        if secrets:
            await page.get_by_label("Function key").fill(secrets.get("key", ""))
            await page.get_by_label("Bearer token").fill(secrets.get("token", ""))
            await page.get_by_role("button", name="Save").click()
        await page.locator("#empty").wait_for()
        yield page


@needs_curl
async def test_an_agent_is_called_by_each_command_and_program_as_it_stands(tmp_path: Path) -> None:
    """By curl, by Python alone, and by the clients of OpenAI, MCP and A2A; the message may have anything in it.

    Behind keys, and where users sign in, each names the variables; MCP's server has a key of its own.
    """
    folder = app_in(tmp_path, principal="signed_in")
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS))
    with RunningHost(folder, "--port", "0", "--auth") as host:
        async with opened(host.origin, "#/Guide", key="host-key", token="of-ada") as page:
            calls = await calls_of(page)
            await page.get_by_role("button", name="Call it from your code").click()
            await expect(page.locator("dialog .note", has_text="KEY is a function key.")).to_be_visible()
            await page.locator(".choices label", has_text="MCP client").click()
            await expect(
                page.locator("dialog .note", has_text="MCP_KEY is the system key mcp_extension.")
            ).to_be_visible()
        answers = await answers_of(calls, KEY="host-key", MCP_KEY="t", TOKEN="of-ada")
        headers = {"authorization": "Bearer of-ada", "x-functions-key": "host-key"}
        async with httpx.AsyncClient(headers=headers) as client:
            threads = (await client.get(f"{host.origin}/api/agents/Guide/threads")).json()["threads"]

    assert [*calls] == SHOWN
    assert not any(secret in str(calls) for secret in ("of-ada", "host-key"))
    for way, (curl, python) in answers.items():
        assert (way, text_of(way, curl), python.strip()) == (way, ANSWER, ANSWER)
    assert len(threads) == 2 * (len(SHOWN) - 1)  # a completion leaves no thread


async def test_only_protocols_that_the_app_serves_are_shown(tmp_path: Path) -> None:
    """The list of agents has their addresses; the last message comes first once there is one."""
    with RunningHost(app_in(tmp_path, wires="['a2a']", is_tool=False)) as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api") as client:
            (guide,) = (await client.get("/agents")).json()["agents"]
        async with opened(host.origin, "#/Guide") as page:
            before = await calls_of(page)
            await ask(page, "hello")
            await ended(page)
            after = await calls_of(page)

    assert (guide["responses_url"], guide["mcp_url"]) == (None, None)
    assert guide["a2a_url"] == f"{host.origin}/api/a2a/Guide"
    assert [*before] == ["Run", "Stream", "A2A"]
    assert [*after] == ["Your last message or schedule", *before]
    assert "hello" in after["Your last message or schedule"][0]
