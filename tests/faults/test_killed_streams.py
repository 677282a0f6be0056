"""Streams under SIGKILL: a real host killed while runs that are followed stand around each of their records.

What a reader had is a beginning of what the log tells afterwards, byte for byte; coming back with the last id that it
has seen, it gets the rest; and the words that are not void are the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
import pytest

from tests.faults.planned_app import PlannedApp, Run, points
from tests.support.event_stream import parse, words
from tests.support.planned import ALL_SAID
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

GUARD_SECONDS = 20.0
# A claim, the first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 1 + 3 + 5 + 1


@dataclass(frozen=True)
class Seen:
    """What a reader had at the kill, what it got when it came back, and what one who reads it all anew gets."""

    before: bytes
    after: bytes
    anew: bytes


@pytest.fixture(scope="module")
def seen(run_log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each run by the point at which it was killed."""
    settings = {**run_log_settings, "AGENT_STREAM_BATCH_SECONDS": "10"}
    return asyncio.run(killed_and_resumed(PlannedApp(tmp_path_factory.mktemp("streams"), settings)))


async def killed_and_resumed(app: PlannedApp) -> dict[str, Seen]:
    """Have every run stand at its point and followed, kill the process, and follow on at another one."""
    with app.host(stands=True) as host:
        runs = await app.stand(host, {"Speaker": points(APPENDS)}, streamed=True)
        before = await followed_until_killed(host, runs)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            after = await asyncio.gather(*(resumed(http, run, before[run]) for run in runs))
            anew = await asyncio.gather(*(resumed(http, run, b"") for run in runs))
    return {run.point: Seen(before[run], *told) for run, *told in zip(runs, after, anew, strict=True)}


async def followed_until_killed(host: RunningHost, runs: Sequence[Run]) -> dict[Run, bytes]:
    """Return what each reader got until the host died under it: it is killed once all have the logs as they stand."""
    got: dict[Run, bytearray] = {run: bytearray() for run in runs}
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        readers = [asyncio.ensure_future(follow(http, run, got[run])) for run in runs]
        while not all(got.values()):  # noqa: ASYNC110 - another process sends it
            await asyncio.sleep(0.01)
        host.process.kill()
        await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    return {run: bytes(told) for run, told in got.items()}


async def follow(http: httpx.AsyncClient, run: Run, got: bytearray) -> None:
    """Read a stream until it breaks."""
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("GET", f"{run.status_path}/events") as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


async def resumed(http: httpx.AsyncClient, run: Run, before: bytes) -> bytes:
    """Return the rest of a stream to its end, behind the last whole frame of what came before."""
    whole = parse(before.decode(errors="replace"))
    cursor = {"last-event-id": str(whole[-1].id)} if whole else {}
    return (await http.get(f"{run.status_path}/events", headers=cursor)).content


@pytest.mark.behaviour("streams.killed")
@pytest.mark.parametrize("point", points(APPENDS))
def test_a_stream_of_a_killed_host_goes_on_byte_for_byte(seen: dict[str, Seen], point: str) -> None:
    """At every record, and over every run log."""
    stream = seen[point]
    whole = stream.before[: stream.before.rfind(b"\n\n") + 2]

    assert stream.anew.startswith(stream.before)
    assert whole + stream.after == stream.anew


@pytest.mark.behaviour("streams.killed")
@pytest.mark.parametrize("point", points(APPENDS))
def test_a_reader_of_a_killed_host_ends_with_the_whole_answer(seen: dict[str, Seen], point: str) -> None:
    """Words that are void are taken back; what a recorded model answer said is not said again."""
    told = parse(seen[point].anew.decode())

    assert words(told) == ALL_SAID
    assert (told[-1].event, told[-1].fields["response"]) == ("completed", ALL_SAID)
    assert [frame.event for frame in told].count("completed") == 1
