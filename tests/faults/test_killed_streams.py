"""Streams of each wire under SIGKILL: one of two HTTP processes is killed, or sleeps, while runs that it streams stand
around their records.

A client that comes back to the other process with what it has gets the rest: each event once, and each word. Whoever
reads at that one notices nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.killed_app import KILLED
from tests.faults.planned_app import PlannedApp, PlannedRun, points
from tests.support.a2a import HEADERS, message, payloads, taken
from tests.support.ag_ui import events_of, folded, wanted
from tests.support.event_stream import Frame, frames, parse, words
from tests.support.kept_in import over
from tests.support.mcp_wire import Session
from tests.support.mcp_wire import events_of as mcp_events
from tests.support.planned import ALL_SAID
from tests.support.redis_server import RedisServer
from tests.support.seeds import IS_EXPLORING

pytestmark = KILLED

GUARD_SECONDS = 60.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
EACH = points(APPENDS)
SOME = ["before 1", "after 4", "after 6", "before 10", "after 10"]
STOOD_AT = EACH if IS_EXPLORING else SOME
"""Where a begin, a result and the end stand."""
SETTINGS = {"AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
AT_EACH_POINT = pytest.mark.parametrize(
    "point", [point if point in SOME else pytest.param(point, marks=pytest.mark.explore) for point in EACH]
)
OVER_LOGS = over("log_settings", "sqlite", "redis")
Http = httpx.AsyncClient
Asked = tuple[str, Any, dict[str, str]]
"""A path, a body and headers."""


@dataclass(frozen=True)
class Wire:
    """What begins a run that stands at a point, as path, body and headers, and what its client asks the other process
    with what it has.
    """

    begin: Callable[[str], Asked]
    come_back: Callable[[Http, str, str], Coroutine[Any, Any, Any]]


async def resume_plain(http: Http, point: str, had: str) -> tuple[list[Frame], list[Frame]]:
    """Return all frames with the rest behind the last id, and those that somebody gets who reads it all anew."""
    before = parse(had)
    events = events_of_run(run_of("Speaker", point, had))
    rest = await http.get(events, headers={"last-event-id": str(before[-1].id)})
    return [*before, *parse(rest.text)], parse((await http.get(events)).text)


async def resume_response(http: Http, point: str, had: str) -> tuple[list[Any], list[Any]]:
    """Return all events with the rest behind the last number, and all of them anew."""
    before = response_events(had)
    response = f"openai/v1/responses/{before[0]['response']['id']}"
    behind = {"stream": "true", "starting_after": str(before[-1]["sequence_number"])}
    rest, anew = [await http.get(response, params=params) for params in (behind, {"stream": "true"})]
    return [*before, *response_events(rest.text)], response_events(anew.text)


def response_events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def asked_by_page(point: str) -> dict[str, Any]:
    name = point.replace(" ", "-")
    return wanted(point, thread=name, run=f"run-{name}")


async def resume_page(http: Http, point: str, had: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the page's messages at the end by the run sent again with what it had, its events, and those anew."""
    asked = asked_by_page(point)
    messages = folded(events_of(had), asked["messages"])
    again = events_of((await http.post("ag-ui/Speaker", json={**asked, "messages": messages})).text)
    anew = events_of((await http.post("ag-ui/Speaker", json=asked)).text)
    return folded(again, messages), again, folded(anew, asked["messages"])


def a2a_call(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def resume_task(http: Http, point: str, had: str) -> tuple[list[Any], Any]:
    """Return what a new subscription gets, and the task as it is read then."""
    params = {"id": payloads(had)[0]["task"]["id"]}
    subscribed, read = [
        await http.post("a2a/Speaker", json=a2a_call(method, params), headers=HEADERS)
        for method in ("SubscribeToTask", "GetTask")
    ]
    is_stream = subscribed.headers["content-type"].startswith("text/event-stream")
    return payloads(subscribed.text) if is_stream else [subscribed.json()], read.json()["result"]


WIRES = {
    "plain": Wire(lambda point: ("agents/Speaker/run", {"message": point, "stream": True}, {}), resume_plain),
    "responses": Wire(
        lambda point: ("openai/v1/responses", {"model": "Speaker", "input": point, "stream": True}, {}), resume_response
    ),
    "ag-ui": Wire(lambda point: ("ag-ui/Speaker", asked_by_page(point), {}), resume_page),
    "a2a": Wire(
        lambda point: ("a2a/Speaker", a2a_call("SendStreamingMessage", {"message": message(point)}), HEADERS),
        resume_task,
    ),
}


@dataclass(frozen=True)
class Followed:
    """What a reader at the other process had when the first one stopped, and all that it got by one stream; what the
    caller of the first one got, and what one who reads it all anew gets.
    """

    when_stopped: list[Frame]
    received: list[Frame]
    by_caller: list[Frame]
    anew: list[Frame]


def run_of(agent: str, point: str, received: str) -> PlannedRun:
    """Return the run that a plain stream's first frame names."""
    accepted = parse(received)[0].fields
    return PlannedRun(agent, point, accepted["thread_id"], accepted["run_id"])


def events_of_run(run: PlannedRun) -> str:
    return f"{run.status_path.removeprefix('/api/')}/events"


async def read(http: Http, request: Asked, got: bytearray) -> None:
    """Read a stream until it ends or breaks."""
    path, body, headers = request
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("POST", path, json=body, headers=headers) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


async def follow(http: Http, run: PlannedRun, received: list[Frame], begun: asyncio.Event) -> None:
    """Read a stream to its end, and say when its first frame is here."""
    async with http.stream("GET", events_of_run(run)) as answer:
        async for frame in frames(answer):
            received.append(frame)
            begun.set()


def whole(got: bytearray) -> str:
    """Return the whole frames of what was received."""
    return got.decode(errors="replace").rpartition("\n\n")[0] + "\n\n"


Seen = dict[tuple[str, str], Any]


async def stopped(
    app: PlannedApp, agent: str, begun: Mapping[tuple[str, str], Asked], *, goes_on: bool
) -> tuple[Seen, dict[str, Followed]]:
    """Have one HTTP process run what was begun, and stop, while the other streams and the durable one ends the runs.

    The process is killed, or `goes_on` when that is done. Return what each client has that came back, and of the plain
    wire what was followed.
    """
    got = {key: bytearray() for key in begun}
    plain = [point for wire, point in begun if wire == "plain"]
    with app.groups() as group:
        first, alive = group.http
        async with (
            Http(base_url=f"{first.origin}/api/", timeout=GUARD_SECONDS) as holder,
            Http(base_url=f"{alive.origin}/api/", timeout=GUARD_SECONDS) as http,
        ):
            callers = [asyncio.ensure_future(read(holder, begun[key], received)) for key, received in got.items()]
            await app.until_standing(len(got))
            runs = [run_of(agent, point, whole(got["plain", point])) for point in plain]
            received: dict[PlannedRun, list[Frame]] = {run: [] for run in runs}
            heard = {run: asyncio.Event() for run in runs}
            readers = [asyncio.ensure_future(follow(http, run, received[run], heard[run])) for run in runs]
            await all_of(one.wait() for one in heard.values())
            when_stopped = {run: list(received[run]) for run in runs}
            with first.frozen() if goes_on else contextlib.nullcontext():
                if not goes_on:
                    first.kill()
                    await all_of(callers)
                had = {key: whole(received) for key, received in got.items()}
                app.go_on.touch()
                await asyncio.to_thread(group.durable.start)
                await all_of(readers)
            await all_of(callers)
            ends = {} if goes_on else {key: await WIRES[key[0]].come_back(http, key[1], had[key]) for key in begun}
            anew = {run: parse((await http.get(events_of_run(run))).text) for run in runs}
    return ends, {
        run.point: Followed(
            when_stopped[run], received[run], parse(got["plain", run.point].decode(errors="replace")), anew[run]
        )
        for run in runs
    }


async def all_of(work: Iterable[Any]) -> None:
    await asyncio.wait_for(asyncio.gather(*work), GUARD_SECONDS)


@pytest.fixture(scope="module")
def killed(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, dict[str, Followed]]:
    """What each client had of a killed process's runs in the end, and what was followed at the other one."""
    app = PlannedApp(tmp_path_factory.mktemp("streams"), {**log_settings, **SETTINGS})
    begun = {(wire, point): WIRES[wire].begin(point) for wire in WIRES for point in STOOD_AT}
    return asyncio.run(stopped(app, "Speaker", begun, goes_on=False))


@pytest.fixture(scope="module")
def slept(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Followed]:
    """What was followed of a process that sleeps meanwhile, and whose last words are its own.

    Over Redis alone: whoever sleeps in a transaction of a file keeps all others from it.
    """
    app = PlannedApp(tmp_path_factory.mktemp("slept"), {"AGENT_LOG": redis_server.url, **SETTINGS})
    begun: dict[tuple[str, str], Asked] = {
        ("plain", point): ("agents/Signer/run", {"message": point, "stream": True}, {}) for point in STOOD_AT
    }
    return asyncio.run(stopped(app, "Signer", begun, goes_on=True))[1]


def steps(received: list[Frame]) -> list[Frame]:
    return [frame for frame in received if frame.event != "delta"]


def assert_whole(received: list[Frame], anew: list[Frame]) -> None:
    """Each event came once, in order, and the words are the answer."""
    logged = [frame.id for frame in steps(received) if frame.id is not None]

    assert steps(received) == steps(anew)
    assert len(set(logged)) == len(logged)
    assert received[-1].event == "completed"
    assert words(received) == received[-1].fields["response"]


@pytest.mark.behaviour("streams.killed-elsewhere")
@pytest.mark.behaviour("streams.killed")
@OVER_LOGS
@AT_EACH_POINT
def test_a_stream_goes_on_where_it_broke_off_and_at_a_process_that_lives_it_does_not_break(
    killed: tuple[Seen, dict[str, Followed]], point: str
) -> None:
    """Words that are void are taken back; what a recorded model answer said is not said again.

    The process that lives hears of another one's appends in another way from each log.
    """
    (resumed, anew), followed = killed[0]["plain", point], killed[1][point]

    assert followed.when_stopped[-1].event != "completed" or point == f"after {APPENDS}"
    assert words(resumed) == words(anew) == words(followed.received) == ALL_SAID
    for received in (resumed, followed.received, anew):
        assert_whole(received, followed.anew)


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped and continued there")
@pytest.mark.behaviour("streams.slept")
@AT_EACH_POINT
def test_the_caller_of_a_process_that_slept_past_its_lease_gets_the_run_as_another_ended_it(
    slept: dict[str, Followed], point: str
) -> None:
    """It wakes in the middle of the run and may speak on; its stream takes that back for what was said meanwhile."""
    assert_whole(slept[point].received, slept[point].anew)
    assert_whole(slept[point].by_caller, slept[point].anew)


@pytest.mark.behaviour("responses.killed")
@OVER_LOGS
@AT_EACH_POINT
def test_a_response_of_a_killed_host_goes_on_where_it_broke_off(
    killed: tuple[Seen, dict[str, Followed]], point: str
) -> None:
    """The words of an attempt that was killed before its model's answer was recorded are no output."""
    read, anew = killed[0]["responses", point]
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
@OVER_LOGS
@AT_EACH_POINT
def test_a_page_that_sends_a_killed_run_again_has_each_word_once(
    killed: tuple[Seen, dict[str, Followed]], point: str
) -> None:
    """All that was said, and each tool's call once, with its result."""
    messages, again, anew = killed[0]["ag-ui", point]
    said = [each["content"] for each in messages[1:] if each.get("content") and "toolCallId" not in each]
    calls = [call["id"] for each in messages for call in each.get("toolCalls", ())]
    results = [each["toolCallId"] for each in messages if "toolCallId" in each]

    assert again[-1]["outcome"] == {"type": "success"}
    assert messages == anew
    assert "\n\n".join(said) == ALL_SAID
    assert sorted(set(calls)) == sorted(calls) == sorted(results)
    assert len(calls) == 5


@pytest.mark.behaviour("a2a.killed")
@OVER_LOGS
@AT_EACH_POINT
def test_a_task_of_a_killed_host_goes_on_and_is_followed_again(
    killed: tuple[Seen, dict[str, Followed]], point: str
) -> None:
    """What its reader has then is the task, whole, unless it was over already."""
    after, task = killed[0]["a2a", point]
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
            calling = asyncio.ensure_future(read(http, ("", mcp_call(session), session.headers), got))
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
