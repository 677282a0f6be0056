"""The progress of a run as readers of HTTP and of each protocol have it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from agent_framework import WorkflowBuilder, WorkflowContext, executor

from hosting.tools import current
from tests.support.a2a import HEADERS, message, payloads
from tests.support.ag_ui import events_of, wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.live_asgi import LiveTransport
from tests.support.made_app import MEMORY, app_of
from tests.support.reporter import Reporting
from tests.support.steered import until

pytestmark = pytest.mark.behaviour("runs.progress")

PROGRESS = {"share": 0.4, "text": "reading"}
WIRES = ["ag-ui", "ai-sdk", "a2a", "mcp", "responses", "chat-completions"]


@executor(id="steps")
async def steps(words: str, context: WorkflowContext[Any, str]) -> None:
    await current().progress(0.4, "reading")
    await asyncio.sleep(0)
    await context.yield_output(words)


class Reported:
    """An app whose agent Joker reports from its tool, and whose workflow does from its executor."""

    def __init__(self) -> None:
        self.reporting = Reporting(lambda work: work.progress(0.4, "reading"), name="Joker")
        flow = WorkflowBuilder(start_executor=steps, name="Flow").build()
        self.app = app_of(self.reporting.agent, wires=WIRES, workflows=[flow], environ=MEMORY)
        self.host = DirectHost(self.app)
        transport = LiveTransport(self.host.asgi)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://app.example/api/", timeout=GUARD_SECONDS)

    async def begun(self) -> str:
        """Return where a run is read that has reported, and is at work."""
        body = {"message": "hi", "thread_id": "t", "wait_for_response": False}
        answer = await self.http.post("agents/Joker/run", json=body)
        await until(self.reporting.reported.is_set)
        return f"agents/Joker/threads/t/runs/{answer.json()['run_id']}"

    async def ended(self, place: str) -> dict[str, Any]:
        """Let the tool end, and return the run once it has."""
        self.reporting.gate.set()
        while (answer := await self.http.get(place)).status_code == 202:  # noqa: ASYNC110 - the run ends it
            await asyncio.sleep(0.005)
        return dict(answer.json())


@pytest.fixture
async def reported() -> AsyncIterator[Reported]:
    app = Reported()
    async with app.http:
        yield app
    app.reporting.gate.set()


async def test_a_run_has_its_progress_while_it_is_open(reported: Reported) -> None:
    """With its status, in its timeline and on its stream, also read again; an ended one has none."""
    place = await reported.begun()
    while "progress" not in (status := (await reported.http.get(place)).json()):  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    timeline = (await reported.http.get(f"{place}/timeline")).json()
    ended = await reported.ended(place)
    after = (await reported.http.get(f"{place}/timeline")).json()
    frames = [
        json.loads(line[6:])
        for line in (await reported.http.get(f"{place}/events")).text.splitlines()
        if "share" in line
    ]

    assert status["progress"] == timeline["progress"] == PROGRESS
    assert ("progress" in ended, "progress" in after) == (False, False)
    assert [{name: frame[name] for name in PROGRESS} for frame in frames] == [PROGRESS]


async def test_ag_ui_has_a_custom_event(reported: Reported) -> None:
    reported.reporting.gate.set()
    answer = await reported.http.post("ag-ui/Joker", json=wanted("hi"))
    events = events_of(answer.text)

    assert [event for event in events if event["type"] == "CUSTOM"] == [
        {"type": "CUSTOM", "name": "progress", "value": PROGRESS}
    ]
    assert events[-1]["type"] == "RUN_FINISHED"


async def test_the_ai_sdk_has_a_part_that_no_message_keeps(reported: Reported) -> None:
    reported.reporting.gate.set()
    said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    answer = await reported.http.post("ai-sdk/Joker", json={"id": "c", "messages": [said], "trigger": "submit-message"})
    chunks = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]

    assert {"type": "data-progress", "data": PROGRESS, "transient": True} in chunks


async def test_a2a_has_a_message_about_the_status(reported: Reported) -> None:
    reported.reporting.gate.set()
    request = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": message("hi")}}
    answer = await reported.http.post("a2a/Joker/", json=request, headers=HEADERS)
    statuses = [sent["statusUpdate"]["status"] for sent in payloads(answer.text) if "statusUpdate" in sent]
    (told,) = [status["message"] for status in statuses if "message" in status]

    assert (told["parts"], told["metadata"]) == ([{"text": "reading"}], {"progress": 0.4})
    assert [status["state"] for status in statuses] == [
        "TASK_STATE_WORKING",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
    ]


async def test_mcp_has_it_where_the_caller_gave_a_token(reported: Reported) -> None:
    """Its numbers only grow, so the share stands in the words."""
    reported.reporting.gate.set()
    own = {"mcp-protocol-version": "2025-11-25", "accept": "application/json, text/event-stream"}
    texts = []
    for number, meta in enumerate(({"_meta": {"progressToken": "p"}}, {})):
        params = {"name": "Joker", "arguments": {"query": "hi", "threadId": f"t{number}"}, **meta}
        request = {"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params}
        texts.append((await reported.http.post("mcp/v1", json=request, headers=own)).text)
    sent = [json.loads(line[6:]) for line in texts[0].splitlines() if line.startswith("data: {")]
    told = [each["params"] for each in sent if each.get("method") == "notifications/progress"]
    numbers = [each["progress"] for each in told]

    assert "reading (40%)" in [each["message"] for each in told]
    assert numbers == sorted(set(numbers))
    assert "reading" not in texts[1]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("openai/v1/responses", {"model": "Joker", "input": "hi", "stream": True}),
        (
            "chat/v1/chat/completions",
            {"model": "Joker", "messages": [{"role": "user", "content": "hi"}], "stream": True},
        ),
    ],
)
async def test_protocols_without_a_place_for_it_have_nothing_of_it(
    reported: Reported, path: str, body: dict[str, Any]
) -> None:
    reported.reporting.gate.set()
    answer = await reported.http.post(path, json=body)

    assert answer.status_code == 200, answer.text
    assert "reading" not in answer.text
