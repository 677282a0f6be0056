"""A2A's tasks under SIGKILL: a real host killed while tasks that it streams stand around each record.

A reader that subscribes again at another process, or reads the task when it is over, has all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.faults.planned_app import PlannedApp, points
from tests.support.a2a import HEADERS, message, payloads, taken
from tests.support.kept_in import over
from tests.support.planned import ALL_SAID
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("a2a.killed"), over("log_settings", "sqlite")]

GUARD_SECONDS = 20.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
AGENT = "/api/a2a/Speaker"

Payloads = list[dict[str, Any]]


@dataclass(frozen=True)
class Seen:
    """What a reader had at the kill, what it got when it subscribed again, and what is read of the task at the end."""

    before: Payloads
    after: Payloads
    task: dict[str, Any]


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each task by the point at which its process was killed."""
    settings = {**log_settings, "AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
    return asyncio.run(killed_and_resumed(PlannedApp(tmp_path_factory.mktemp("tasks"), settings)))


async def killed_and_resumed(app: PlannedApp) -> dict[str, Seen]:
    """Have a streamed task stand at each point, kill the process, and subscribe again at another one."""
    with app.host(stands=True) as host:
        before = await streamed_until_killed(app, host)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS, headers=HEADERS) as http:
            ids = [stream[0]["task"]["id"] for stream in before.values()]
            after = await asyncio.gather(*(asked(http, "SubscribeToTask", id=identifier) for identifier in ids))
            tasks = await asyncio.gather(*(asked(http, "GetTask", id=identifier) for identifier in ids))
    read = [task for [task] in tasks]
    return {point: Seen(*each) for point, *each in zip(before, before.values(), after, read, strict=True)}


async def streamed_until_killed(app: PlannedApp, host: RunningHost) -> dict[str, Payloads]:
    """Return what the reader of each task got until the host died under it."""
    got = {point: bytearray() for point in points(APPENDS)}
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS, headers=HEADERS) as http:
        readers = [asyncio.ensure_future(stream(http, point, received)) for point, received in got.items()]
        await app.until_standing(len(got))
        host.process.kill()
        await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    return {point: payloads(whole(received)) for point, received in got.items()}


async def stream(http: httpx.AsyncClient, point: str, got: bytearray) -> None:
    """Have the agent run to the point, and read what it says until the stream breaks."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": message(point)}}
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("POST", AGENT, json=request) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


def whole(received: bytearray) -> str:
    """Return the messages that came whole."""
    return received.decode(errors="replace").rpartition("\n\n")[0]


async def asked(http: httpx.AsyncClient, method: str, **params: Any) -> Payloads:
    """Return the answer of a request, or the messages of a stream to its end."""
    answer = await http.post(AGENT, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    if answer.headers["content-type"].startswith("text/event-stream"):
        return payloads(answer.text)
    return [answer.json().get("result", answer.json())]


@pytest.mark.parametrize("point", points(APPENDS))
def test_a_task_of_a_killed_host_goes_on_and_is_followed_again(seen: dict[str, Seen], point: str) -> None:
    """At every record: what its reader has then is the task, whole."""
    one = seen[point]
    final = taken([{"task": one.task}])

    assert final["status"]["state"] == "TASK_STATE_COMPLETED"
    assert list(final["texts"].values()) == [ALL_SAID]
    if "error" in one.after[0]:  # it was over already
        assert one.after[0]["error"]["code"] == -32004
    else:
        assert taken(one.after) == final
        assert one.after[0]["task"]["id"] == one.before[0]["task"]["id"]
