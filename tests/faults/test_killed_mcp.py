"""The MCP endpoint under SIGKILL: a real host killed while calls that it streams stand around each record.

A client that comes back to another process with the last event that it has gets the rest, without another run: from
there the same words as somebody who begins anew, and the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.faults.planned_app import PlannedApp, points
from tests.support.kept_in import over
from tests.support.mcp_wire import ASKS, HANDSHAKE, STATELESS, Event, Session, events_of, words
from tests.support.planned import ALL_SAID
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("mcp-endpoint.killed"), over("log_settings", "redis")]

GUARD_SECONDS = 20.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
URL = "/api/mcp/v1"


@dataclass(frozen=True)
class Seen:
    """What a client had at the kill, the rest of the stream from another process, and the same call sent again."""

    had: list[Event]
    rest: list[Event]
    again: dict[str, Any]
    runs: int


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each call by the point at which its process was killed."""
    settings = {**log_settings, "AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
    return asyncio.run(killed_and_resumed(PlannedApp(tmp_path_factory.mktemp("mcp"), settings)))


async def killed_and_resumed(app: PlannedApp) -> dict[str, Seen]:
    """Have a call stand at each point, kill the process, and go on at another one."""
    got = {point: bytearray() for point in points(APPENDS)}
    sessions: dict[str, Session] = {}
    with app.host(stands=True) as host:
        async with http_of(host) as http:
            for point in got:
                sessions[point] = Session(http)
                await sessions[point].begin()
            readers = [asyncio.ensure_future(stream(sessions[point], point, had)) for point, had in got.items()]
            await app.until_standing(len(got))
            host.process.kill()
            await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    had = {point: events_of(bytes(received).decode().rpartition("\n\n")[0]) for point, received in got.items()}
    with app.host() as host:
        async with http_of(host) as http:
            for session in sessions.values():
                session.http = http
            found = await asyncio.gather(*(resumed(sessions[point], point, had[point]) for point in got))
    return dict(zip(got, found, strict=True))


def http_of(host: RunningHost) -> httpx.AsyncClient:
    """Return a client of the endpoint."""
    headers = {"accept": "application/json, text/event-stream"}
    return httpx.AsyncClient(base_url=f"{host.origin}{URL}", timeout=GUARD_SECONDS, headers=headers)


def call(session: Session, point: str) -> dict[str, Any]:
    """Return the call that stands at the point: the same whenever it is sent."""
    arguments = {"query": point, "threadId": point.replace(" ", "-")}
    params = {"name": "Speaker", "arguments": arguments, "_meta": {"progressToken": "p"}}
    return session.request("tools/call", params, "the call")


async def stream(session: Session, point: str, got: bytearray) -> None:
    """Call the agent, and read until the stream breaks."""
    with contextlib.suppress(httpx.TransportError):
        async with session.http.stream("POST", "", json=call(session, point), headers=session.headers) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


async def resumed(session: Session, point: str, had: list[Event]) -> Seen:
    """Go on with a stream from the last event, send the call again, and count the thread's runs."""
    last = next((event.id for event in reversed(had) if event.id), None)
    rest: list[Event] = []
    if last is not None:
        answer = await session.http.get("", headers={**session.headers, "last-event-id": last})
        assert answer.status_code == 200, answer.text
        rest = events_of(answer.text)
    again = await session.post(call(session, point))
    url = session.http.base_url.copy_with(path=f"/api/agents/Speaker/threads/{point.replace(' ', '-')}/runs")
    runs = (await session.http.get(url)).json()["runs"]
    return Seen(had, rest, events_of(again.text)[-1].value, len(runs))


@pytest.mark.parametrize("point", points(APPENDS))
def test_a_client_that_comes_back_has_the_result_of_its_one_run(seen: dict[str, Seen], point: str) -> None:
    """At every record: all that was said, by the rest of the stream and by the call sent again."""
    one = seen[point]
    progress = [event.value for event in one.rest if event.value is not None and "params" in event.value]
    steps = [value["params"]["progress"] for value in progress]

    assert one.again["result"]["structuredContent"]["response"] == ALL_SAID
    assert one.runs == 1
    assert steps == sorted(set(steps))
    assert not one.had or one.rest[-1].value == one.again
    assert not words(progress) or words(progress).endswith("all done")


OPEN = SOURCE.replace("agents=[clerk(note)]", 'wires=["mcp"], agents=[clerk(note)]')

# Appends: 1 and 2 the run that asks, 3 the answer with the run that goes on, then that run. A kill in its middle
# would cut the tool off, which ends a run (tests/faults/test_killed_steps.py). With a handshake another
# request waits for the run that goes on, so who claims it is open.
POINTS = ["before 1", "after 1", "before 2", "after 2", "before 3", "after 3"]
KILLS = [(version, point) for version in (HANDSHAKE, STATELESS) for point in POINTS]
KILLS += [(STATELESS, point) for point in ("before claimed 2", "before completed 2")]


async def refunded(session: Session, key: str) -> dict[str, Any]:
    """Call the tool under one key, approve whatever is asked, and return the result."""
    session.headers["idempotency-key"] = key
    if session.version == STATELESS:
        result = await session.call("call refund 5", tool="Clerk")
        while "inputRequests" in result:
            approved = {"action": "accept", "content": {"approved": True}}
            responses = dict.fromkeys(result["inputRequests"], approved)
            state = result["requestState"]
            result = await session.call("call refund 5", tool="Clerk", requestState=state, inputResponses=responses)
        return result
    await session.begin()
    async with session.calling("call refund 5", "Clerk") as events:
        async for event in events:
            if event.value is not None and "method" in event.value and "id" in event.value:
                await session.answer(event.value, "accept", approved=True)
            elif event.value is not None and "result" in event.value:
                return dict(event.value["result"])
    raise httpx.ReadError("the stream ended without a result")


@pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL")
@pytest.mark.parametrize(("version", "point"), KILLS)
async def test_a_question_outlives_its_process_and_its_tool_acts_once(
    tmp_path: Path, log_settings: dict[str, str], point: str, version: str
) -> None:
    """The client sends the call again under its key, is asked if nobody has answered, and gets the one result."""
    app, key = ClerksApp(tmp_path, log_settings, OPEN), new_id()
    with app.host(KILL=point) as host:
        async with http_of(host) as http:
            with contextlib.suppress(httpx.TransportError):
                await refunded(Session(http, version, ASKS), key)
        assert await until_dead(host) != 0
    with app.host() as host:
        async with http_of(host) as http:
            result = await asyncio.wait_for(refunded(Session(http, version, ASKS), key), 4 * GUARD_SECONDS)

    assert result["content"][0]["text"] == "told: refunded 5"
    assert app.notes() == ["refund"]
