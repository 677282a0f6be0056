"""Streams under SIGKILL: a real host killed while runs that it streams stand around each of their records.

A reader that comes back with the last id that it has seen gets the rest: each event once, and words that are the answer
once they are joined by their offsets, though a few may be told twice. So does a reader at another process, which lives
on and whose stream never breaks; and the caller of a process that slept while another one ended its runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx
import pytest

from tests.faults.planned_app import PlannedApp, PlannedRun, points
from tests.support.event_stream import Frame, frames, parse, words
from tests.support.planned import ALL_SAID
from tests.support.redis_server import RedisServer
from tests.support.running_host import RunningHost
from tests.support.seeds import IS_EXPLORING

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
SETTINGS = {"AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
EACH = points(APPENDS)
SOME = ["before 1", "after 1", "before 4", "after 6", "before 10", "after 10"]
"""Where a begin, a result and the end stand: over logs that are not files, the gate has no run for other points."""
OVER_FILES = pytest.mark.parametrize("log_settings", ["sqlite"], indirect=True)
OVER_OTHERS = pytest.mark.parametrize("log_settings", ["redis", "tables"], indirect=True)
AT_EACH = pytest.mark.parametrize("point", EACH)
AT_SOME = pytest.mark.parametrize(
    "point", [point if point in SOME else pytest.param(point, marks=pytest.mark.explore) for point in EACH]
)


def stood_at(log: Mapping[str, str]) -> list[str]:
    """Return the points at which runs over that log stand in this run of the tests."""
    return EACH if IS_EXPLORING or log["AGENT_LOG"].startswith("sqlite") else SOME


@dataclass(frozen=True)
class Seen:
    """What a reader had at the kill, what it got when it came back, and what one who reads it all anew gets."""

    before: bytes
    after: bytes
    anew: bytes


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each run by the point at which it was killed."""
    app = PlannedApp(tmp_path_factory.mktemp("streams"), {**log_settings, **SETTINGS})
    return asyncio.run(killed_and_resumed(app, stood_at(log_settings)))


async def killed_and_resumed(app: PlannedApp, stands: Sequence[str]) -> dict[str, Seen]:
    """Have a streamed run stand at each point, kill the process, and follow on at another one."""
    with app.host(stands=True) as host:
        before = await streamed_until_killed(app, host, stands)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            after = await asyncio.gather(*(resumed(http, run, received) for run, received in before.items()))
            anew = await asyncio.gather(*(resumed(http, run, b"") for run in before))
    return {run.point: Seen(before[run], *received) for run, *received in zip(before, after, anew, strict=True)}


async def streamed_until_killed(app: PlannedApp, host: RunningHost, stands: Sequence[str]) -> dict[PlannedRun, bytes]:
    """Return what the reader of each run got until the host died under it."""
    got = {point: bytearray() for point in stands}
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        readers = [asyncio.ensure_future(stream(http, "Speaker", point, received)) for point, received in got.items()]
        await app.until_standing(len(got))
        host.process.kill()
        await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    return {run_of("Speaker", point, bytes(received)): bytes(received) for point, received in got.items()}


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


async def resumed(http: httpx.AsyncClient, run: PlannedRun, before: bytes) -> bytes:
    """Return the rest of a stream to its end, behind the last whole frame of what came before."""
    whole = parse(before.decode(errors="replace"))
    cursor = {"last-event-id": str(whole[-1].id)} if whole else {}
    return (await http.get(f"{run.status_path}/events", headers=cursor)).content


def steps(received: list[Frame]) -> list[Frame]:
    """Return what is no word."""
    return [frame for frame in received if frame.event != "delta"]


@pytest.mark.behaviour("streams.killed")
@OVER_FILES
@AT_EACH
def test_a_stream_of_a_killed_host_goes_on_where_it_broke_off(seen: dict[str, Seen], point: str) -> None:
    """At every record: each event once, and the same words once joined by their offsets."""
    assert_goes_on(seen[point])


@pytest.mark.behaviour("streams.killed")
@OVER_FILES
@AT_EACH
def test_a_reader_of_a_killed_host_ends_with_the_whole_answer(seen: dict[str, Seen], point: str) -> None:
    """Words that are void are taken back; what a recorded model answer said is not said again."""
    assert_has_all(seen[point])


@pytest.mark.behaviour("streams.killed")
@OVER_OTHERS
@AT_SOME
def test_over_other_logs_a_stream_goes_on_and_ends_with_the_whole_answer(seen: dict[str, Seen], point: str) -> None:
    """The same of what stands in a server's log."""
    assert_goes_on(seen[point])
    assert_has_all(seen[point])


def assert_goes_on(stream: Seen) -> None:
    """Each event came once, and the words are those that one who reads it all anew gets."""
    before, after, anew = (parse(part.decode(errors="replace")) for part in (stream.before, stream.after, stream.anew))

    assert steps([*before, *after]) == steps(anew)
    assert words([*before, *after]) == words(anew)


def assert_has_all(stream: Seen) -> None:
    """One who reads it all anew gets the answer, and one end."""
    received = parse(stream.anew.decode())

    assert words(received) == ALL_SAID
    assert (received[-1].event, received[-1].fields["response"]) == ("completed", ALL_SAID)
    assert [frame.event for frame in received].count("completed") == 1


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
    return asyncio.run(followed_elsewhere(app, "Speaker", stood_at(log_settings), goes_on=False))


@pytest.fixture(scope="module")
def slept(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Followed]:
    """The same of a process that sleeps meanwhile, and whose last words are its own.

    Over Redis alone: whoever sleeps in a transaction of a file keeps all others from it.
    """
    app = PlannedApp(tmp_path_factory.mktemp("slept"), {"AGENT_LOG": redis_server.url, **SETTINGS})
    return asyncio.run(followed_elsewhere(app, "Signer", EACH, goes_on=True))


async def followed_elsewhere(
    app: PlannedApp, agent: str, stands: Sequence[str], *, goes_on: bool
) -> dict[str, Followed]:
    """Have one HTTP process run the agent and stop, while the other one streams and the durable one ends the runs.

    The process is then killed, or `goes_on` when that is done.
    """
    with app.groups() as group:
        stopped, alive = group.http
        async with (
            httpx.AsyncClient(base_url=stopped.origin, timeout=GUARD_SECONDS) as holder,
            httpx.AsyncClient(base_url=alive.origin, timeout=GUARD_SECONDS) as http,
        ):
            got = {point: bytearray() for point in stands}
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
            anew = await asyncio.gather(*(resumed(http, run, b"") for run in runs))
    return {
        run.point: Followed(
            when_stopped[run], received[run], parse(got[run.point].decode(errors="replace")), parse(text.decode())
        )
        for run, text in zip(runs, anew, strict=True)
    }


async def follow(http: httpx.AsyncClient, run: PlannedRun, received: list[Frame], begun: asyncio.Event) -> None:
    """Read a stream to its end, and say when its first frame is here."""
    async with http.stream("GET", f"{run.status_path}/events") as answer:
        async for frame in frames(answer):
            received.append(frame)
            begun.set()


@pytest.mark.behaviour("streams.killed-elsewhere")
@OVER_FILES
@AT_EACH
def test_a_reader_at_a_process_that_lives_gets_each_event_once_and_one_text(
    followed: dict[str, Followed], point: str
) -> None:
    """Though the process that ran the agent was killed and another one went on: the one stream never breaks."""
    assert_never_broke(followed[point], point)


@pytest.mark.behaviour("streams.killed-elsewhere")
@OVER_OTHERS
@AT_SOME
def test_over_other_logs_a_reader_at_a_process_that_lives_gets_the_same(
    followed: dict[str, Followed], point: str
) -> None:
    """The process that lives hears of another one's appends in another way from each log."""
    assert_never_broke(followed[point], point)


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped and continued there")
@pytest.mark.behaviour("streams.slept")
@AT_EACH
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


def assert_never_broke(read: Followed, point: str) -> None:
    """The stream had begun when its run's process was killed, and then got all of it."""
    assert read.when_stopped[-1].event != "completed" or point == f"after {APPENDS}"
    assert_whole(read.received, read.anew)
    assert words(read.received) == ALL_SAID
