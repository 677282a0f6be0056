"""Streams that a process serves which lives, of runs whose own process is killed or sleeps past its lease meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import dataclass

import httpx
import pytest

from tests.faults.planned_app import PlannedApp, PlannedRun, points
from tests.support.event_stream import Frame, frames, parse, words
from tests.support.planned import ALL_SAID
from tests.support.redis_server import RedisServer
from tests.support.seeds import IS_EXPLORING

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
SETTINGS = {"AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
EACH = points(APPENDS)
SOME = ["before 1", "before 4", "after 6", "after 10"]
"""Where a begin, a result and the end stand: the gate has no run for other points."""
STOOD_AT = EACH if IS_EXPLORING else SOME
AT_EACH_POINT = pytest.mark.parametrize(
    "point", [point if point in SOME else pytest.param(point, marks=pytest.mark.explore) for point in EACH]
)


async def stream(http: httpx.AsyncClient, agent: str, point: str, got: bytearray) -> None:
    """Have the agent run to the point, and read what it says until the stream breaks."""
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("POST", f"/api/agents/{agent}/run", json={"message": point, "stream": True}) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


def run_of(agent: str, point: str, received: bytes) -> PlannedRun:
    """Return the run that a stream's first frame names."""
    accepted = parse(received.decode(errors="replace"))[0].fields
    return PlannedRun(agent, point, accepted["thread_id"], accepted["run_id"])


async def anew(http: httpx.AsyncClient, run: PlannedRun) -> list[Frame]:
    """Return all frames of a run's stream."""
    return parse((await http.get(f"{run.status_path}/events")).text)


def steps(received: list[Frame]) -> list[Frame]:
    return [frame for frame in received if frame.event != "delta"]


@dataclass(frozen=True)
class Followed:
    """What a reader elsewhere had when the process stopped, all that it got by one stream, and all that the caller of
    that process got; and what one who reads it all anew gets.
    """

    when_stopped: list[Frame]
    received: list[Frame]
    by_caller: list[Frame]
    anew: list[Frame]


@pytest.fixture(scope="module")
def followed(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Followed]:
    """Each run by the point at which its process was killed, as it was read at another one."""
    app = PlannedApp(tmp_path_factory.mktemp("followed"), {**log_settings, **SETTINGS})
    return asyncio.run(followed_elsewhere(app, "Speaker", goes_on=False))


@pytest.fixture(scope="module")
def slept(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Followed]:
    """The same of a process that sleeps meanwhile, and whose last words are its own.

    Over Redis alone: whoever sleeps in a transaction of a file keeps all others from it.
    """
    app = PlannedApp(tmp_path_factory.mktemp("slept"), {"AGENT_LOG": redis_server.url, **SETTINGS})
    return asyncio.run(followed_elsewhere(app, "Signer", goes_on=True))


async def followed_elsewhere(app: PlannedApp, agent: str, *, goes_on: bool) -> dict[str, Followed]:
    """Have one HTTP process run the agent and stop, while the other one streams and the durable one ends the runs.

    The process is then killed, or `goes_on` when that is done.
    """
    with app.groups() as group:
        stopped, alive = group.http
        async with (
            httpx.AsyncClient(base_url=stopped.origin, timeout=GUARD_SECONDS) as holder,
            httpx.AsyncClient(base_url=alive.origin, timeout=GUARD_SECONDS) as http,
        ):
            got = {point: bytearray() for point in STOOD_AT}
            callers = [asyncio.ensure_future(stream(holder, agent, point, received)) for point, received in got.items()]
            await app.until_standing(len(got))
            runs = [run_of(agent, point, bytes(received)) for point, received in got.items()]
            received: dict[PlannedRun, list[Frame]] = {run: [] for run in runs}
            begun = {run: asyncio.Event() for run in runs}
            readers = [asyncio.ensure_future(follow(http, run, received[run], begun[run])) for run in runs]
            await asyncio.wait_for(asyncio.gather(*(one.wait() for one in begun.values())), GUARD_SECONDS)
            when_stopped = {run: list(received[run]) for run in runs}
            with stopped.frozen() if goes_on else contextlib.nullcontext():
                if not goes_on:
                    stopped.kill()
                app.go_on.touch()
                await asyncio.to_thread(group.durable.start)
                await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
            await asyncio.wait_for(asyncio.gather(*callers), GUARD_SECONDS)
            anew_read = await asyncio.gather(*(anew(http, run) for run in runs))
    return {
        run.point: Followed(
            when_stopped[run], received[run], parse(got[run.point].decode(errors="replace")), frames_anew
        )
        for run, frames_anew in zip(runs, anew_read, strict=True)
    }


async def follow(http: httpx.AsyncClient, run: PlannedRun, received: list[Frame], begun: asyncio.Event) -> None:
    """Read a stream to its end, and say when its first frame is here."""
    async with http.stream("GET", f"{run.status_path}/events") as answer:
        async for frame in frames(answer):
            received.append(frame)
            begun.set()


@pytest.mark.behaviour("streams.killed-elsewhere")
@AT_EACH_POINT
def test_a_reader_at_a_process_that_lives_gets_each_event_once_and_one_text(
    followed: dict[str, Followed], point: str
) -> None:
    """The process that lives hears of another one's appends in another way from each log; its stream never breaks."""
    read = followed[point]

    assert read.when_stopped[-1].event != "completed" or point == f"after {APPENDS}"
    assert_whole(read.received, read.anew)
    assert words(read.received) == ALL_SAID


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped and continued there")
@pytest.mark.behaviour("streams.slept")
@AT_EACH_POINT
def test_the_caller_of_a_process_that_slept_past_its_lease_gets_the_run_as_another_ended_it(
    slept: dict[str, Followed], point: str
) -> None:
    """It wakes in the middle of the run and may speak on; its stream takes that back for what was said meanwhile."""
    read = slept[point]

    assert_whole(read.received, read.anew)
    assert_whole(read.by_caller, read.anew)


def assert_whole(received: list[Frame], anew: list[Frame]) -> None:
    """Each event came once, in order, and the words are the answer."""
    logged = [frame.id for frame in steps(received) if frame.id is not None]

    assert steps(received) == steps(anew)
    assert len(set(logged)) == len(logged)
    assert received[-1].event == "completed"
    assert words(received) == received[-1].fields["response"]
