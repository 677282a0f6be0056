"""samples/copilotkit as its user has it: the app on a local host, CopilotKit's runtime from npm, and the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.samples.node_server import installed, started
from tests.support.browsing import a_browser, needs_browser

pytestmark = [pytest.mark.slow(seconds=35), pytest.mark.behaviour("samples.copilotkit")]

POSTCARD = 'Call send_postcard with {"to": "Ada", "text": "Hello"}'

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Server:
    """The started Node server, and the file with all that it prints."""

    origin: str
    log: Path

    async def run(self, messages: Events, run_id: str, **fields: Any) -> Events:
        """Return the events of a run, from the route that CopilotKit's pages use."""
        nothing: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
        body = {"threadId": "over-http", "runId": run_id, "messages": messages, **nothing, **fields}
        async with httpx.AsyncClient(base_url=self.origin, timeout=30) as http:
            answer = await http.post("/api/copilotkit/agent/guide/run", json=body)
        return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]


@pytest.fixture(scope="module")
def server(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server for the sample's app."""
    packages = installed("copilotkit", Path(pytestconfig.cache.mkdir("copilotkit")))
    folder = tmp_path_factory.mktemp("app")
    with started("copilotkit", packages, folder) as origin:
        yield Server(origin, folder / "log")


async def test_the_runtime_streams_chats_and_approves(server: Server) -> None:
    """As CopilotKit's page in React sends it: the answer under the id of the run that asked, and its own stand-in."""
    asking = [{"id": "m-1", "role": "user", "content": POSTCARD}]
    waits = await server.run(asking, "run-1")
    (asked,) = waits[-1]["outcome"]["interrupts"]
    call = {"id": asked["toolCallId"], "type": "function", "function": {"name": "send_postcard", "arguments": "{}"}}
    shown = {"id": waits[1]["parentMessageId"], "role": "assistant", "toolCalls": [call]}
    stand_in = {"id": "m-2", "role": "tool", "toolCallId": asked["toolCallId"], "content": '{"approved":true}'}
    answer = {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}
    goes_on = await server.run([*asking, shown, stand_in], "run-1", resume=[answer])

    assert [one["type"] for one in waits] == [
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "RUN_FINISHED",
    ]
    assert goes_on[1] == {"type": "MESSAGES_SNAPSHOT", "messages": [*asking, shown]}
    assert [one["content"] for one in goes_on if one["type"] == "TOOL_CALL_RESULT"] == ["On its way to Ada: Hello"]
    assert sum(one["type"] == "TEXT_MESSAGE_CONTENT" for one in goes_on) > 1
    assert goes_on[-1]["outcome"] == {"type": "success"}


@needs_browser
async def test_the_page_chats_asks_and_goes_on_when_it_is_loaded_again(server: Server) -> None:
    """Nothing is asked of another server, by the page or by CopilotKit's runtime: its telemetry is off."""
    complaints: list[str] = []
    asked_for: list[str] = []
    async with a_browser() as browser:
        page = await browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked_for.append(asked.url))
        await page.goto(server.origin)
        await page.fill("input", "What is the weather in Paris?")
        await page.click("text=Send")
        await expect(page.locator(".assistant")).to_have_text("The weather in Paris: partly cloudy, 18 °C.")
        await expect(page.locator("button:enabled")).to_have_text("Send")
        await page.fill("input", POSTCARD)
        await page.click("text=Send")
        await expect(page.locator("#asked")).to_contain_text("May send_postcard be called?")
        await page.reload()
        await page.click("text=Approve")
        await expect(page.locator(".tool").last).to_have_text("On its way to Ada: Hello")
        await expect(page.locator(".assistant").last).to_contain_text("Ada")

    assert complaints == []
    assert [url for url in asked_for if not url.startswith((server.origin, "data:"))] == []
    assert "looked up" not in server.log.read_text("utf-8")


async def test_what_the_wire_refuses_is_said_to_the_page(server: Server) -> None:
    tool = {"name": "confetti", "description": "Throws it.", "parameters": {}}
    (error,) = await server.run([{"id": "m", "role": "user", "content": "hello"}], "run-2", tools=[tool])

    assert error["type"] == "RUN_ERROR"
    assert "the agent takes no tools of callers" in error["message"]
