"""Streams under SIGKILL: a real host killed while runs that it streams stand around each of their records.

A reader that comes back with the last id that it has seen gets the rest: each event once, and words that are the answer
once they are joined by their offsets, though a few may be told twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import httpx
import pytest

from tests.faults.planned_app import PlannedApp, Run, points
from tests.support.event_stream import Frame, parse, words
from tests.support.planned import ALL_SAID
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

GUARD_SECONDS = 20.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1


@dataclass(frozen=True)
class Seen:
    """What a reader had at the kill, what it got when it came back, and what one who reads it all anew gets."""

    before: bytes
    after: bytes
    anew: bytes


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each run by the point at which it was killed."""
    settings = {**log_settings, "AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
    return asyncio.run(killed_and_resumed(PlannedApp(tmp_path_factory.mktemp("streams"), settings)))


async def killed_and_resumed(app: PlannedApp) -> dict[str, Seen]:
    """Have a streamed run stand at each point, kill the process, and follow on at another one."""
    with app.host(stands=True) as host:
        before = await streamed_until_killed(app, host)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            after = await asyncio.gather(*(resumed(http, run, received) for run, received in before.items()))
            anew = await asyncio.gather(*(resumed(http, run, b"") for run in before))
    return {run.point: Seen(before[run], *received) for run, *received in zip(before, after, anew, strict=True)}


async def streamed_until_killed(app: PlannedApp, host: RunningHost) -> dict[Run, bytes]:
    """Return what the reader of each run got until the host died under it."""
    got = {point: bytearray() for point in points(APPENDS)}
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        readers = [asyncio.ensure_future(stream(http, point, received)) for point, received in got.items()]
        await app.until_standing(len(got))
        host.process.kill()
        await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    return {run_of(point, bytes(received)): bytes(received) for point, received in got.items()}


async def stream(http: httpx.AsyncClient, point: str, got: bytearray) -> None:
    """Have the agent run to the point, and read what it says until the stream breaks."""
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("POST", "/api/agents/Speaker/run", json={"message": point, "stream": True}) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


def run_of(point: str, received: bytes) -> Run:
    """Return the run that a stream's first frame names."""
    accepted = parse(received.decode(errors="replace"))[0].fields
    return Run("Speaker", point, accepted["thread_id"], accepted["run_id"])


async def resumed(http: httpx.AsyncClient, run: Run, before: bytes) -> bytes:
    """Return the rest of a stream to its end, behind the last whole frame of what came before."""
    whole = parse(before.decode(errors="replace"))
    cursor = {"last-event-id": str(whole[-1].id)} if whole else {}
    return (await http.get(f"{run.status_path}/events", headers=cursor)).content


def steps(received: list[Frame]) -> list[Frame]:
    """Return what is no word."""
    return [frame for frame in received if frame.event != "delta"]


@pytest.mark.behaviour("streams.killed")
@pytest.mark.parametrize("point", points(APPENDS))
def test_a_stream_of_a_killed_host_goes_on_where_it_broke_off(seen: dict[str, Seen], point: str) -> None:
    """At every record, and over every log: each event once, and the same words once joined by their offsets."""
    stream = seen[point]
    before, after, anew = (parse(part.decode(errors="replace")) for part in (stream.before, stream.after, stream.anew))

    assert steps([*before, *after]) == steps(anew)
    assert words([*before, *after]) == words(anew)


@pytest.mark.behaviour("streams.killed")
@pytest.mark.parametrize("point", points(APPENDS))
def test_a_reader_of_a_killed_host_ends_with_the_whole_answer(seen: dict[str, Seen], point: str) -> None:
    """Words that are void are taken back; what a recorded model answer said is not said again."""
    received = parse(seen[point].anew.decode())

    assert words(received) == ALL_SAID
    assert (received[-1].event, received[-1].fields["response"]) == ("completed", ALL_SAID)
    assert [frame.event for frame in received].count("completed") == 1
