"""The sweep over idle threads: in pages, a few at once, broken off and gone on with, at ten thousand threads."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator

import pytest

from hosting.app import AgentFunctionApp
from hosting.entity.entity import AgentEntity
from hosting.entity.settling import Settling
from hosting.entity.sweep import MOST_AT_ONCE, MOST_SECONDS, PAGE_SIZE, Sweep, Swept
from hosting.ports import EntityPage, Purge
from hosting.times import iso
from tests.support.app.scripted import scripted_agent
from tests.support.bench import Bench, MovingClock
from tests.support.made_app import timers

TTL = 3600.0


class ThreadsOfOneAgent:
    """The engine, as far as a sweep knows it: every thread's state, when it was touched, and who delivers to it."""

    def __init__(self, entity: AgentEntity, clock: MovingClock) -> None:
        self._entity = entity
        self._clock = clock
        self.states: dict[str, str] = {}
        self.touched: dict[str, float] = {}
        self.purged: list[str] = []
        self.under_way = 0
        self.most_at_once = 0
        self.page_sizes: list[int] = []

    def add(self, key: str, idle_seconds: float) -> None:
        """Add a thread whose last turn was so long ago."""
        self.touched[key] = self._clock.now - idle_seconds
        until = iso(self.touched[key] + TTL).replace("+00:00", "Z")
        document = {"schemaVersion": "1.1.0", "data": {"conversationHistory": [], "expirationTimeUtc": until}}
        self.states[key] = json.dumps(document)

    async def list(self, entity: str, limit: int, cursor: str | None, changed_until: float | None = None) -> EntityPage:
        """See `EntityClient.list`; the limit counts before the filter, as the real engine's does."""
        rest = sorted(key for key in self.states if key > (cursor or ""))
        page = [key for key in rest[:limit] if changed_until is None or self.touched[key] <= changed_until]
        self.page_sizes.append(len(page))
        return EntityPage(
            tuple((key, iso(self.touched[key])) for key in page), rest[limit - 1] if len(rest) > limit else None
        )

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """See `EntityClient.signal`; delivered at once."""
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await asyncio.sleep(0)
        batch = [{"name": operation, "input": json.dumps(json.dumps(value)), "isSignal": True, "id": "1"}]
        payload = {"self": {"name": entity, "key": key}, "exists": True, "state": self.states[key], "batch": batch}
        answered = json.loads(await self._entity.handle(json.dumps(payload)))
        self.touched[key] = self._clock.now
        if answered["entityExists"]:
            self.states[key] = answered["entityState"]
        else:
            del self.states[key]
        self.under_way -= 1

    async def read(self, entity: str, key: str) -> str | None:
        """See `EntityClient.read`."""
        return self.states.get(key)

    async def purge(self, instance_id: str) -> Purge:
        """See `EntityClient.purge`."""
        self.purged.append(instance_id)
        return "deleted"


@pytest.fixture
def bench() -> Iterator[Bench]:
    """An agent with a time to live of an hour."""
    bench = Bench(ttl_seconds=TTL)
    yield bench
    bench.loop.close()


@pytest.fixture
def threads(bench: Bench) -> ThreadsOfOneAgent:
    """Its threads."""
    return ThreadsOfOneAgent(bench.entity, bench.clock)


def sweep_of(bench: Bench, passed_seconds: Callable[[], float] = time.monotonic) -> Sweep:
    """Return the sweep of the bench's agent, which waits for nobody: signals are delivered at once."""
    settling = Settling(bench.log)
    return Sweep({"Joker": TTL}, bench.clock, settling, passed_seconds=passed_seconds, settle_seconds=(0.0,))


@pytest.mark.behaviour("erasure.sweep")
async def test_of_ten_thousand_threads_those_are_deleted_whose_time_is_up(
    bench: Bench, threads: ThreadsOfOneAgent
) -> None:
    """Page by page, a few signals at once; threads in use are not even asked."""
    for number in range(10_000):
        threads.add(f"t-{number:05}", idle_seconds=TTL + 1 if number % 2 else 60)

    swept = await sweep_of(bench).run(threads)

    assert swept == Swept(asked=5000, is_whole=True)
    assert sorted(threads.states) == [f"t-{number:05}" for number in range(0, 10_000, 2)]
    assert max(threads.page_sizes) <= PAGE_SIZE
    assert threads.most_at_once == MOST_AT_ONCE
    assert sorted(threads.purged) == [f"@dafx-joker@t-{number:05}" for number in range(1, 10_000, 2)]


@pytest.mark.behaviour("erasure.sweep")
async def test_a_sweep_ends_after_its_time_and_the_next_one_goes_on(bench: Bench, threads: ThreadsOfOneAgent) -> None:
    """What was done is not listed again, so nothing has to be remembered."""
    for number in range(3 * PAGE_SIZE):
        threads.add(f"t-{number:05}", idle_seconds=TTL)
    ticks = iter([0.0, 1.0, MOST_SECONDS, 0.0, 1.0])
    sweep = sweep_of(bench, passed_seconds=lambda: next(ticks))

    first, left = await sweep.run(threads), len(threads.states)
    second = await sweep.run(threads)

    assert (first, left) == (Swept(2 * PAGE_SIZE, is_whole=False), PAGE_SIZE)
    assert len(set(threads.purged)) == len(threads.purged) == 3 * PAGE_SIZE
    assert (second, threads.states) == (Swept(PAGE_SIZE, is_whole=True), {})


@pytest.mark.behaviour("erasure.sweep")
async def test_a_thread_that_is_asked_early_is_asked_again_a_time_to_live_later(
    bench: Bench, threads: ThreadsOfOneAgent
) -> None:
    """One that was touched since its last answer, or whose clock was another's."""
    threads.add("t", idle_seconds=0)
    threads.touched["t"] -= TTL
    sweep = sweep_of(bench)
    await sweep.run(threads)
    assert "t" in threads.states

    bench.clock.now += TTL
    await sweep.run(threads)

    assert threads.states == {}


@pytest.mark.behaviour("erasure.sweep")
def test_the_timer_is_there_once_an_agent_has_a_time_to_live() -> None:
    """By its own or by the setting; once for all agents, at the chosen times."""
    environ = {"AGENT_RUN_LOG": "memory"}
    without = AgentFunctionApp(agents=[scripted_agent("one")], environ=environ)
    own = AgentFunctionApp(environ={**environ, "AGENT_SWEEP_SCHEDULE": "0 0 3 * * *"})
    for name in ("one", "two"):
        own.add_agent(scripted_agent(name), ttl_seconds=60)
    default = AgentFunctionApp(agents=[scripted_agent("one")], environ={**environ, "AGENT_THREAD_TTL_SECONDS": "60"})

    assert timers(without) == {}
    assert timers(own) == {"agents_sweep": "0 0 3 * * *"}
    assert timers(default) == {"agents_sweep": "0 */5 * * * *"}
