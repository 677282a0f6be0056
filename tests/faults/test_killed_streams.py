"""Streams of each wire under SIGKILL: one process is killed while runs that it streams stand around their records.

A client that comes back to another process with what it has gets the rest: each event once, and each word.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.killed_app import KILLED, KilledApp, Row, Scenario, each_dies
from tests.faults.planned_app import PlannedApp, points
from tests.support.a2a import HEADERS, message, payloads, taken
from tests.support.ag_ui import events_of, folded, states, wanted
from tests.support.carriers import Api
from tests.support.event_stream import Frame, parse, words
from tests.support.mcp_wire import Session
from tests.support.mcp_wire import events_of as mcp_events
from tests.support.planned import ALL_SAID
from tests.support.seeds import IS_EXPLORING

pytestmark = KILLED

GUARD_SECONDS = 60.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
EACH = points(APPENDS)
SOME = ["before 1", "after 4", "after 6", "before 10"]
STOOD_AT = EACH if IS_EXPLORING else SOME
"""Where a begin, a result and the end stand."""
SETTINGS = {"AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
AT_EACH_POINT = pytest.mark.parametrize(
    "point", [point if point in SOME else pytest.param(point, marks=pytest.mark.explore) for point in EACH]
)


@dataclass(frozen=True)
class Request:
    """What a client sends; it is read as a stream."""

    path: str
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Wire:
    """What begins a run that stands at a point, and what its client asks of the next process with what it has."""

    begin: Callable[[str], Request]
    come_back: Callable[[httpx.AsyncClient, str, str], Coroutine[Any, Any, Any]]


def begin_plain(point: str) -> Request:
    return Request("agents/Speaker/run", {"message": point, "stream": True}, {})


async def resume_plain(http: httpx.AsyncClient, point: str, had: str) -> tuple[list[Frame], list[Frame]]:
    """Return all frames with the rest behind the last id, and those that somebody gets who reads it all anew."""
    before = parse(had)
    run = before[0].fields
    events = f"agents/Speaker/threads/{run['thread_id']}/runs/{run['run_id']}/events"
    rest = await http.get(events, headers={"last-event-id": str(before[-1].id)})
    return [*before, *parse(rest.text)], parse((await http.get(events)).text)


def begin_response(point: str) -> Request:
    return Request("openai/v1/responses", {"model": "Speaker", "input": point, "stream": True}, {})


async def resume_response(http: httpx.AsyncClient, point: str, had: str) -> tuple[list[Any], list[Any]]:
    """Return all events with the rest behind the last number, and all of them anew."""
    before = response_events(had)
    response = f"openai/v1/responses/{before[0]['response']['id']}"
    behind = {"stream": "true", "starting_after": str(before[-1]["sequence_number"])}
    rest, anew = [await http.get(response, params=params) for params in (behind, {"stream": "true"})]
    return [*before, *response_events(rest.text)], response_events(anew.text)


def response_events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def begin_page(point: str) -> Request:
    return Request("ag-ui/Speaker", asked_by_page(point), {})


def asked_by_page(point: str) -> dict[str, Any]:
    name = point.replace(" ", "-")
    return wanted(point, thread=name, run=f"run-{name}")


async def resume_page(http: httpx.AsyncClient, point: str, had: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the page's messages at the end by the run sent again with what it had, its events, and those anew."""
    asked = asked_by_page(point)
    messages = folded(events_of(had), asked["messages"])
    again = events_of((await http.post("ag-ui/Speaker", json={**asked, "messages": messages})).text)
    anew = events_of((await http.post("ag-ui/Speaker", json=asked)).text)
    return folded(again, messages), again, folded(anew, asked["messages"])


def begin_task(point: str) -> Request:
    params = {"message": message(point)}
    return Request(
        "a2a/Speaker", {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params}, HEADERS
    )


async def resume_task(http: httpx.AsyncClient, point: str, had: str) -> tuple[list[Any], Any]:
    """Return what a new subscription gets, and the task as it is read then."""
    params = {"id": payloads(had)[0]["task"]["id"]}
    answers = [
        await http.post(
            "a2a/Speaker", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=HEADERS
        )
        for method in ("SubscribeToTask", "GetTask")
    ]
    is_stream = answers[0].headers["content-type"].startswith("text/event-stream")
    return payloads(answers[0].text) if is_stream else [answers[0].json()], answers[1].json()["result"]


WIRES = {
    "plain": Wire(begin_plain, resume_plain),
    "responses": Wire(begin_response, resume_response),
    "ag-ui": Wire(begin_page, resume_page),
    "a2a": Wire(begin_task, resume_task),
}
Seen = Mapping[tuple[str, str], Any]


async def killed_and_resumed(app: PlannedApp) -> Seen:
    """Have a run of each wire stand at each point, kill their process, and have each client come back to another."""
    got = {(wire, point): bytearray() for wire in WIRES for point in STOOD_AT}
    with app.host(stands=True) as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS) as http:
            readers = [
                asyncio.ensure_future(read(http, WIRES[wire].begin(point), received))
                for (wire, point), received in got.items()
            ]
            await app.until_standing(len(got))
            host.process.kill()
            await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    had = {key: received.decode(errors="replace").rpartition("\n\n")[0] + "\n\n" for key, received in got.items()}
    with app.host() as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS) as http:
            ends = await asyncio.gather(*(WIRES[wire].come_back(http, point, had[wire, point]) for wire, point in got))
    return dict(zip(got, ends, strict=True))


async def read(http: httpx.AsyncClient, request: Request, got: bytearray) -> None:
    """Read a stream until it breaks."""
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("POST", request.path, json=request.body, headers=request.headers) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What each client had in the end."""
    return asyncio.run(killed_and_resumed(PlannedApp(tmp_path_factory.mktemp("streams"), SETTINGS)))


@pytest.mark.behaviour("streams.killed")
@AT_EACH_POINT
def test_a_stream_of_a_killed_host_goes_on_where_it_broke_off(seen: Seen, point: str) -> None:
    """Words that are void are taken back; what a recorded model answer said is not said again."""
    read, anew = seen["plain", point]

    assert [frame for frame in read if frame.event != "delta"] == [frame for frame in anew if frame.event != "delta"]
    assert words(read) == words(anew) == ALL_SAID
    assert (anew[-1].event, anew[-1].fields["response"]) == ("completed", ALL_SAID)
    assert [frame.event for frame in anew].count("completed") == 1


@pytest.mark.behaviour("responses.killed")
@AT_EACH_POINT
def test_a_response_of_a_killed_host_goes_on_where_it_broke_off(seen: Seen, point: str) -> None:
    """The words of an attempt that was killed before its model's answer was recorded are no output."""
    read, anew = seen["responses", point]
    delta = "response.output_text.delta"
    output = anew[-1]["response"]["output"]
    standing = {item["id"]: item["content"][0]["text"] for item in output if item["type"] == "message"}
    done = [event["item"] for event in anew if event["type"] == "response.output_item.done"]

    def texts(events: list[Any]) -> dict[str, str]:
        said = [event for event in events if event["type"] == delta and event["item_id"] in standing]
        return {name: "".join(each["delta"] for each in said if each["item_id"] == name) for name in standing}

    assert anew[-1]["response"]["status"] == "completed"
    assert "\n\n".join(standing.values()) == ALL_SAID
    assert [event for event in read if event["type"] != delta] == [event for event in anew if event["type"] != delta]
    assert texts(read) == texts(anew) == standing
    kept = [item for item in done if item["status"] != "incomplete"]
    assert sorted(kept, key=lambda item: item["id"]) == sorted(output, key=lambda item: item["id"])
    assert sum(item["type"] == "mcp_call" for item in output) == 5


@pytest.mark.behaviour("ag-ui.killed")
@AT_EACH_POINT
def test_a_page_that_sends_a_killed_run_again_has_each_word_once(seen: Seen, point: str) -> None:
    """All that was said, and each tool's call once, with its result."""
    messages, again, anew = seen["ag-ui", point]
    said = [each["content"] for each in messages[1:] if each.get("content") and "toolCallId" not in each]
    calls = [call["id"] for each in messages for call in each.get("toolCalls", ())]
    results = [each["toolCallId"] for each in messages if "toolCallId" in each]

    assert again[-1]["outcome"] == {"type": "success"}
    assert messages == anew
    assert "\n\n".join(said) == ALL_SAID
    assert sorted(set(calls)) == sorted(calls) == sorted(results)
    assert len(calls) == 5


@pytest.mark.behaviour("a2a.killed")
@AT_EACH_POINT
def test_a_task_of_a_killed_host_goes_on_and_is_followed_again(seen: Seen, point: str) -> None:
    """What its reader has then is the task, whole, unless it was over already."""
    after, task = seen["a2a", point]
    final = taken([{"task": task}])

    assert final["status"]["state"] == "TASK_STATE_COMPLETED"
    assert list(final["texts"].values()) == [ALL_SAID]
    assert after[0]["error"]["code"] == -32004 if "error" in after[0] else taken(after) == final


def mcp_call(session: Session) -> Any:
    """Return the call that stands in the middle: the same whenever it is sent."""
    arguments = {"query": "after 6", "threadId": "after-6"}
    params = {"name": "Speaker", "arguments": arguments, "_meta": {"progressToken": "p"}}
    return session.request("tools/call", params, "the call")


@pytest.mark.behaviour("mcp-endpoint.killed")
async def test_a_client_of_mcp_that_comes_back_has_the_result_of_its_one_run(tmp_path: Path) -> None:
    """By the rest of the stream and by the call sent again: progress goes on, and all is said."""
    app, got = PlannedApp(tmp_path, SETTINGS), bytearray()
    options: Any = {"timeout": GUARD_SECONDS, "headers": {"accept": "application/json, text/event-stream"}}
    with app.host(stands=True) as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/mcp/v1", **options) as http:
            session = Session(http)
            await session.begin()
            calling = asyncio.ensure_future(read(http, Request("", mcp_call(session), session.headers), got))
            await app.until_standing(1)
            host.process.kill()
            await calling
    had = mcp_events(got.decode().rpartition("\n\n")[0])
    last = next(event.id for event in reversed(had) if event.id)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/mcp/v1", **options) as session.http:
            answer = await session.http.get("", headers={**session.headers, "last-event-id": last})
            again = mcp_events((await session.post(mcp_call(session))).text)[-1].value
            url = f"{host.origin}/api/agents/Speaker/threads/after-6/runs"
            runs = (await session.http.get(url)).json()["runs"]
    rest = mcp_events(answer.text)
    steps = [event.value["params"]["progress"] for event in rest if event.value and "params" in event.value]

    assert again["result"]["structuredContent"]["response"] == ALL_SAID
    assert (len(runs), rest[-1].value) == (1, again)
    assert steps == sorted(set(steps))


SHOWN = """
import os
from pathlib import Path

from tests.support.painter import painter
from tests.support.steered import FileGate, Working


class Noted(list):
    def append(self, shown):
        note(f"{os.getpid()} {shown}")


working = Working("Steered")
working.client.shown = Noted()
working.gate = FileGate(Path(os.devnull))
app = AgentFunctionApp(agents=[working.agent, painter()], wires=["ag-ui"])
"""
CONTEXT = [{"description": "The open order.", "value": "A-17"}]
RED, BLUE = ({"color": color, "shapes": [*range(20)]} for color in ("red", "blue"))


async def page_runs(api: Api, path: str, fields: dict[str, Any]) -> list[Any]:
    return events_of((await api.http.post(f"/api/ag-ui/{path}", json=fields)).text)


async def show(app: KilledApp, api: Api) -> None:
    await page_runs(api, "Steered", {**wanted("first", run="r-1"), "context": CONTEXT})


async def each_model_call_had_the_context(app: KilledApp, api: Api) -> None:
    """Also in the process that goes on; its client, which shows nothing any more, changes nothing."""
    events = await page_runs(api, "Steered", wanted("first", run="r-1"))

    assert events[-1]["outcome"] == {"type": "success"}
    assert len({line.split()[0] for line in app.said}) == 2
    assert [line.count("A-17") for line in app.said] == [1] * len(app.said)


async def paint(app: KilledApp, api: Api) -> list[Any]:
    return await page_runs(api, "Painter", {**wanted("paint blue, look", run="r-1"), "state": RED})


async def no_change_of_the_state_is_lost(app: KilledApp, api: Api) -> None:
    """The tool after the kill sees it, the page gets it once, and the thread keeps it."""
    ended, following = await paint(app, api), await page_runs(api, "Painter", wanted("look", run="r-2"))

    assert folded(ended)[-1]["content"] == f"painted blue | {json.dumps(BLUE)}"
    assert [event["type"] for event in ended if event["type"].startswith("STATE")] == ["STATE_SNAPSHOT", "STATE_DELTA"]
    assert (states(ended), states(following)) == ([RED, BLUE], [BLUE])


ROUNDS = [f"{side} {nth}" for nth in (3, 2, 4, 5) for side in ("after", "before")]


@each_dies(
    Scenario("context", SHOWN, ROUNDS, show, each_model_call_had_the_context).rows(
        pytest.mark.behaviour("ag-ui.context")
    ),
    Scenario("state", SHOWN, ROUNDS, paint, no_change_of_the_state_is_lost).rows(pytest.mark.behaviour("ag-ui.state")),
)
async def test_what_a_page_shows_outlives_the_process(row: Row) -> None:
    """The request sent again follows the run."""
    await row.dies_and_ends()
