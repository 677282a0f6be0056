"""Streams of runs whose log is away, full or empty of words: every one comes to an end that says what happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from hosting.errors import LogUnavailableError
from hosting.events import Delta, Event
from hosting.ports import EntityPage
from hosting.run.following import Following
from hosting.run.runs import Runs
from hosting.run.streams import Streams
from tests.support.bench import Bench
from tests.support.event_stream import Told, parse, words
from tests.support.halted_runs import GUARD_SECONDS, World
from tests.support.speaker import Speaker, spoken, told


class NoEngine:
    """An entity client for runs that nobody has to signal."""

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Take it and do nothing."""

    async def read(self, entity: str, key: str) -> str | None:
        """Know of no conversation."""
        return None

    async def list(self, entity: str, limit: int, cursor: str | None) -> EntityPage:
        """Know of no thread."""
        return EntityPage((), None)


def stream_of(bench: Bench, outage_seconds: float) -> Streams:
    """Return the streams of the bench's log."""
    runs = Runs(bench.log, bench.settings, bench.clock)
    return Streams(Following(bench.log, runs, outage_seconds))


async def read(frames: AsyncIterator[bytes]) -> list[Told]:
    """Return a stream to its end, under the guard."""

    async def whole() -> bytes:
        return b"".join([piece async for piece in frames])

    return parse((await asyncio.wait_for(whole(), GUARD_SECONDS)).decode())


@pytest.mark.behaviour("streams.unavailable")
async def test_a_stream_whose_log_stays_away_says_so_and_ends() -> None:
    """It says nothing of the run, which may go on; the frame has no id, so the reader comes back with its last."""
    bench = Bench(Speaker(["never said"]))
    run_id = await bench.open("go", streamed=True)
    record = await bench.record(run_id)
    bench.restart()
    bench.store.is_down = True

    (frame,) = await read(stream_of(bench, outage_seconds=0).reply(record, NoEngine(), "/api").frames)
    bench.loop.close()

    assert (frame.id, frame.event, frame.fields["code"]) == (None, "unavailable", "log_unavailable")


@pytest.mark.behaviour("streams.unavailable")
async def test_a_stream_bears_a_log_that_is_away_for_a_moment() -> None:
    """Its reader gets everything, and nothing of the outage."""
    bench = Bench(speaker := Speaker(["one ", "two"]), {"AGENT_STREAM_BATCH_SECONDS": "0"})
    run_id = await bench.open("go", streamed=True)
    record = await bench.record(run_id)
    bench.restart()
    bench.store.is_down = True

    async def back() -> None:
        bench.store.is_down = False

    reading = asyncio.ensure_future(read(stream_of(bench, 60).reply(record, NoEngine(), "/api").frames))
    await asyncio.sleep(0)
    await back()
    await asyncio.wait_for(bench.signal(run_id), GUARD_SECONDS)
    frames = await reading
    bench.loop.close()

    assert words(frames) == "".join(speaker.pieces)
    assert frames[-1].event == "completed"


@pytest.mark.behaviour("streams.log-down")
async def test_a_run_whose_words_find_no_place_still_ends_with_its_answer() -> None:
    """As in a blob that has taken all the appends it can: what is kept for the end is not spent on words."""
    bench = Bench(Speaker(["one ", "two ", "three"]), {"AGENT_STREAM_BATCH_SECONDS": "0"})
    plain = bench.store.append

    async def full(run_id: str, *events: Event, after: int) -> bool:
        if all(isinstance(event, Delta) for event in events):
            raise LogUnavailableError("the blob is full")
        return await plain(run_id, *events, after=after)

    bench.store.append = full  # type: ignore[method-assign]
    frames = told(await spoken(bench))

    assert [frame.event for frame in frames] == ["accepted", "started", "delta", "completed"]
    assert words(frames) == frames[-1].fields["response"] == "one two three"


async def test_a_model_that_says_nothing_ends_its_stream_all_the_same() -> None:
    """Without a word."""
    frames = told(await spoken(Bench(Speaker([]))))

    assert [frame.event for frame in frames] == ["accepted", "started", "completed"]


async def test_a_model_that_only_calls_tools_is_followed_by_its_calls() -> None:
    """Each call with its arguments before its result."""
    world = World(plan=(("add",), ("look",), "all done"))
    frames = told(await spoken(world.bench))

    seen = [(frame.event, frame.fields) for frame in frames if frame.event.startswith("tool")]
    assert seen == [
        ("tool_call", {"id": "1.call-0-0", "tool": "add", "arguments": {"n": "0"}}),
        ("tool_result", {"id": "1.call-0-0", "tool": "add", "result": "1"}),
        ("tool_call", {"id": "2.call-1-0", "tool": "look", "arguments": {"n": "0"}}),
        ("tool_result", {"id": "2.call-1-0", "tool": "look", "result": "seen 0"}),
    ]
    assert words(frames) == "all done"
