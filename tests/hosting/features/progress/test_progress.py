"""The progress of runs: written by the process that has the run, and read by HTTP and each protocol."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from agent_framework import WorkflowBuilder, WorkflowContext, executor

from hosting.core.thread.events import Progressed
from hosting.core.thread.run import Run
from hosting.progress import LONGEST_TEXT
from hosting.tools import ToolCall, current
from tests.support.a2a import HEADERS, message, payloads
from tests.support.ag_ui import wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.cluster.cluster import ADDRESS, Cluster, call
from tests.support.direct import DirectHost
from tests.support.live_asgi import LiveTransport
from tests.support.made_app import MEMORY, app_of
from tests.support.reporter import Reporting, Reports
from tests.support.steered import until


class Stage:
    """A process whose agent reports, and another one of the same Cluster."""

    def __init__(self, report: Reports) -> None:
        self.reporting = Reporting(report, gate=asyncio.Event)
        self.cluster = Cluster(lambda: self.reporting.agent)
        self.here, self.there = self.cluster.process(), self.cluster.process()

    async def reported(self) -> Run:
        """Return a run whose tool has reported, and is at work."""
        run = await self.here.start(call())
        await self.cluster.sleep(0.1)
        return run

    async def written(self) -> list[tuple[float, str]]:
        events = [event for _, event in await self.there.log.events(ADDRESS, 0)]
        return [(event.share, event.text) for event in events if isinstance(event, Progressed)]

    async def ended(self, run: Run) -> Run:
        """Let the tool end, and return the run once it has."""
        self.reporting.gate.set()
        return await self.here.runs.wait(run, self.here.engine, GUARD_SECONDS)


@pytest.mark.moved_time
@pytest.mark.behaviour("runs.progress")
async def test_another_process_reads_the_progress_and_the_model_does_not() -> None:
    stage = Stage(lambda work: work.progress(0.4, "canary"))
    run = await stage.reported()
    progress = (await stage.there.runs.find(ADDRESS, run.run_id, stage.there.engine)).progress
    ended = await stage.ended(run)
    assert (progress and progress.share, progress and progress.text) == (0.4, "canary")
    assert ended.end
    assert (ended.end.kind, "canary" in stage.reporting.shown) == ("completed", False)


@pytest.mark.moved_time
@pytest.mark.behaviour("runs.progress-paced")
async def test_of_many_reports_the_first_and_the_newest_are_written() -> None:
    """Those between are forgotten, and the share does not fall; the newest goes with the next step."""

    async def report(work: ToolCall) -> None:
        await work.progress(0.1, "first")
        await asyncio.sleep(0.01)
        for number in range(500):
            await work.progress(number / 1000, f"part {number}")
        await work.progress(0.2, "a slower part")

    stage = Stage(report)
    run = await stage.reported()
    before = await stage.written()
    await stage.ended(run)
    assert before == [(0.1, "first")]
    assert await stage.written() == [(0.1, "first"), (0.499, "a slower part")]


@pytest.mark.moved_time
@pytest.mark.behaviour("runs.progress-paced")
async def test_a_run_of_hours_writes_a_progress_each_hundredth_of_its_time() -> None:
    stage = Stage(lambda work: work.progress(0.1, "first"))
    run = await stage.reported()
    progress = stage.here.holders.held[run.run_id].reporter
    now = progress.began_at
    pauses = []
    while now - progress.began_at < 4 * 3600:
        pauses.append(pause := progress.pause_seconds(now))
        now += pause
    assert (pauses[0], max(pauses)) == (1.0, pytest.approx(4 * 36, rel=0.02))
    assert len(pauses) < 700


WRONG_PROGRESS: list[tuple[Any, Any, str]] = [
    (1.5, "", "the share 1.5. Give a number from 0 to 1."),
    (-0.1, "", "the share -0.1."),
    (math.nan, "", "the share nan."),
    (math.inf, "", "the share inf."),
    (True, "", "the share True."),
    ("0.5", "", "the share '0.5'."),
    (0.5, "x" * (LONGEST_TEXT + 1), "a text of 201 characters. Give at most 200."),
    (0.5, b"bytes", "got a bytes as text. Give a str."),
]


@pytest.mark.moved_time
@pytest.mark.behaviour("runs.progress-checked")
async def test_a_progress_that_is_none_is_refused() -> None:
    """By a sentence for the author of the tool; nothing is written."""

    async def report(work: ToolCall) -> None:
        for share, text, says in WRONG_PROGRESS:
            with pytest.raises(ValueError, match=re.escape(says)):
                await work.progress(share, text)
        refused.append(len(WRONG_PROGRESS))

    refused: list[int] = []
    stage = Stage(report)
    await stage.ended(await stage.reported())
    assert (refused, await stage.written()) == ([len(WRONG_PROGRESS)], [])


@pytest.mark.moved_time
@pytest.mark.behaviour("runs.progress-checked")
async def test_a_report_after_the_end_of_its_run_is_refused() -> None:
    calls: list[ToolCall] = []
    late: list[asyncio.Future[None]] = []

    async def report(work: ToolCall) -> None:
        calls.append(work)
        late.append(asyncio.ensure_future(report_later(work)))

    async def report_later(work: ToolCall) -> None:
        await asyncio.sleep(10)
        await work.progress(0.9)

    stage = Stage(report)
    await stage.ended(await stage.reported())
    with pytest.raises(LookupError, match="does not go on here"):
        await late[0]
    with pytest.raises(LookupError, match="only inside a run"):
        await calls[0].progress(0.5)
    with pytest.raises(LookupError):
        current()


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


@pytest.mark.behaviour("runs.progress")
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


SAID = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}


@pytest.mark.behaviour("runs.progress")
@pytest.mark.parametrize(
    ("path", "body", "sent"),
    [
        ("ag-ui/Joker", wanted("hi"), [{"type": "CUSTOM", "name": "progress", "value": PROGRESS}]),
        (
            "ai-sdk/Joker",
            {"id": "c", "messages": [SAID], "trigger": "submit-message"},
            [{"type": "data-progress", "data": PROGRESS, "transient": True}],
        ),
        ("openai/v1/responses", {"model": "Joker", "input": "hi", "stream": True}, []),
        (
            "chat/v1/chat/completions",
            {"model": "Joker", "messages": [{"role": "user", "content": "hi"}], "stream": True},
            [],
        ),
    ],
)
async def test_each_stream_has_its_own_form_of_it_or_none(
    reported: Reported, path: str, body: dict[str, Any], sent: list[Any]
) -> None:
    """No client keeps it as a message."""
    reported.reporting.gate.set()

    answer = await reported.http.post(path, json=body)

    chunks = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert answer.status_code == 200, answer.text
    assert [chunk for chunk in chunks if "reading" in json.dumps(chunk)] == sent
    assert len(chunks) > 2


@pytest.mark.behaviour("runs.progress")
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


@pytest.mark.behaviour("runs.progress")
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
