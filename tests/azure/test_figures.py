"""How fast the host is that was given: the figures that the product promises on the real one, printed and not judged.

The runs of a known time need the app in tests/azure/app; the others are taken of any app's first agent, and hold its
model's time.
"""

import asyncio
import itertools
import time
import uuid
from collections.abc import Awaitable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import httpx
import pytest

from benchmarks.samples import median, percentile
from tests.azure.figures import Figure, figure
from tests.azure.target import Target
from tests.support.event_stream import frames
from tests.support.storage_calls import LogPosition, NotCounted

CLIENTS = 16
WORDS = 10
SLOW_SECONDS = 2
KILLED_SECONDS = 120.0  # a host that was killed whole gets its work back after a minute (recordings)


@dataclass(frozen=True)
class Load:
    """How much is asked of a host for its figures."""

    warm_up_turns: int = 5
    fresh_turns: int = 50
    clients_seconds: float = 2.0
    streams: int = 3
    slow_runs: int = 200


FEW = Load(warm_up_turns=1, fresh_turns=8, clients_seconds=0.25, streams=1, slow_runs=20)


@pytest.fixture
def load(target: Target) -> Load:
    return FEW if target.few else Load()


async def turn(client: httpx.AsyncClient, agent: str, message: str = "Hello, how are you?") -> float:
    """The seconds of one turn on a fresh thread, which must be answered 200."""
    began = time.perf_counter()
    answer = await client.post(f"/api/agents/{agent}/run", json={"message": message})
    assert answer.status_code == 200, answer.text
    return time.perf_counter() - began


async def turns(client: httpx.AsyncClient, agent: str, count: int) -> list[float]:
    return [await turn(client, agent) for _ in range(count)]


async def turns_until(client: httpx.AsyncClient, agent: str, end: float) -> list[float]:
    seconds: list[float] = []
    while time.perf_counter() < end:
        seconds.append(await turn(client, agent))
    return seconds


async def together(parts: list[Awaitable[list[float]]]) -> list[float]:
    return list(chain.from_iterable(await asyncio.gather(*parts)))


@pytest.fixture
async def warm(client: httpx.AsyncClient, agent: str, load: Load) -> str:
    """The agent, after some turns that nobody measures."""
    await turns(client, agent, load.warm_up_turns)
    return agent


@pytest.fixture
async def timed(client: httpx.AsyncClient) -> str:
    names = [agent["name"] for agent in (await client.get("/api/agents")).json()["agents"]]
    if "timed" not in names:
        pytest.skip("no agent of a known time: host tests/azure/app for this figure")
    return "timed"


async def test_one_client_on_fresh_threads(
    client: httpx.AsyncClient, warm: str, load: Load, figures: list[Figure]
) -> None:
    seconds = await turns(client, warm, load.fresh_turns)

    figures.append(figure("fresh turn, p50", median(seconds) * 1000))
    figures.append(figure("fresh turn, p99", percentile(seconds, 99) * 1000))


async def test_many_clients(client: httpx.AsyncClient, warm: str, load: Load, figures: list[Figure]) -> None:
    end = time.perf_counter() + load.clients_seconds
    done = await together([turns_until(client, warm, end) for _ in range(CLIENTS)])

    figures.append(figure("16 clients", len(done) / load.clients_seconds))


@pytest.fixture
def storage_log(target: Target) -> Path:
    if not target.storage_log:
        pytest.skip("no log of the storage given (--storage-log FILE: what Azurite prints)")
    return Path(target.storage_log)


def calls_of_each(position: LogPosition, count: int) -> float | NotCounted:
    """The storage calls since then, by the lines of Azurite's log; the queues' polling meanwhile counts too."""
    calls = position.calls_since()
    return calls if isinstance(calls, NotCounted) else len(calls) / count


async def test_storage_calls(
    client: httpx.AsyncClient, warm: str, load: Load, storage_log: Path, figures: list[Figure]
) -> None:
    position = LogPosition.now(storage_log)
    await turns(client, warm, load.fresh_turns)

    figures.append(figure("storage calls of a turn", calls_of_each(position, load.fresh_turns)))


async def test_storage_calls_of_slow_runs(
    client: httpx.AsyncClient, timed: str, load: Load, storage_log: Path, figures: list[Figure]
) -> None:
    position = LogPosition.now(storage_log)
    await asyncio.gather(*(turn(client, timed, f"wait {SLOW_SECONDS}") for _ in range(load.fresh_turns)))

    figures.append(figure("storage calls of a turn of 2 s", calls_of_each(position, load.fresh_turns)))


async def test_words(client: httpx.AsyncClient, timed: str, load: Load, figures: list[Figure]) -> None:
    """The first is said at once, then five a second: they should be heard as they are said, and not in bursts."""
    received = [await heard_at(client, timed) for _ in range(load.streams)]
    waits = [later - earlier for times in received for earlier, later in itertools.pairwise(times)]

    figures.append(figure("first word", median([times[0] for times in received]) * 1000))
    figures.append(figure("longest wait for a word", max(waits) * 1000))


async def heard_at(client: httpx.AsyncClient, agent: str) -> list[float]:
    """The seconds from a request to each of its answer's words."""
    times: list[float] = []
    body, headers = {"message": f"speak {WORDS} 5"}, {"accept": "text/event-stream"}
    began = time.perf_counter()
    async with client.stream("POST", f"/api/agents/{agent}/run", json=body, headers=headers) as stream:
        async for event in frames(stream):
            now = time.perf_counter() - began
            times += [now] * len(str(event.fields["text"]).split()) if event.event == "delta" else []
    assert len(times) == WORDS
    return times


async def test_many_slow_runs(client: httpx.AsyncClient, timed: str, load: Load, figures: list[Figure]) -> None:
    """None waits for another. Storage that fails for a moment may let a caller go, and its run ends all the same."""

    async def ended() -> None:
        body, key = {"message": f"wait {SLOW_SECONDS}"}, {"idempotency-key": uuid.uuid4().hex}
        answer = await client.post(f"/api/agents/{timed}/run", json=body, headers=key)
        if answer.status_code == 503:
            await asyncio.sleep(float(answer.headers["retry-after"]))
            answer = await client.post(f"/api/agents/{timed}/run", json=body, headers=key)
        assert answer.status_code in (200, 202), answer.text
        if answer.status_code == 202:
            await status_is(client, answer.headers["location"], "success")

    began = time.perf_counter()
    await asyncio.gather(*(ended() for _ in range(load.slow_runs)))

    figures.append(figure("200 runs of 2 s", time.perf_counter() - began))


async def test_a_worker_that_is_killed(
    target: Target, client: httpx.AsyncClient, timed: str, figures: list[Figure]
) -> None:
    """Its run is finished by the next one, and stands in the conversation once."""
    if not target.kill:
        pytest.skip("no command that kills the worker given (--kill COMMAND)")
    thread = f"check-{uuid.uuid4().hex}"
    request = {"message": "wait 1", "thread_id": thread, "wait_for_response": False}
    accepted = await client.post(f"/api/agents/{timed}/run", json=request)
    await status_is(client, accepted.headers["location"], "running")
    killed_at = time.perf_counter()
    command = await asyncio.create_subprocess_shell(target.kill)
    assert await command.wait() == 0
    await status_is(client, accepted.headers["location"], "success")

    figures.append(figure("a killed worker's run", time.perf_counter() - killed_at))
    conversation = (await client.get(f"/api/agents/{timed}/threads/{thread}/messages")).json()["entries"]
    assert [entry["type"] for entry in conversation] == ["request", "response"]


async def status_is(client: httpx.AsyncClient, url: str, status: str) -> None:
    """Return when the run at `url` says so; a host that is starting again is asked again."""
    end = time.perf_counter() + KILLED_SECONDS
    output = ""
    while output != status:
        assert time.perf_counter() < end, f"the run is {output!r}, and should be {status!r}"
        try:
            output = (await client.get(url)).json()["status"]
        except (httpx.TransportError, ValueError, KeyError):
            output = "not answered"
        await asyncio.sleep(0.05)
