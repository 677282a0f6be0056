"""What is known of all of an agent's threads together, in two processes, whatever fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import pytest

from hosting.core.cells import Cells
from hosting.core.rotation import Rotation
from hosting.core.stores.memory import MemoryObjects
from hosting.errors import EngineUnavailableError, LogUnavailableError
from hosting.features.overview.overview import Overview, OverviewSweep
from hosting.http.verbs import FoundWords, ThreadQuery
from hosting.names import APP, Address, StoreKey, entity_name
from hosting.ports import EntityPage
from hosting.principal import Caller
from tests.support.cluster.cluster import AGENT, AppProcess, Cluster
from tests.support.cluster.engine import Engine
from tests.support.cluster.threads import delete
from tests.support.thread_stores import ArmedStore, Failure

pytestmark = pytest.mark.moved_time
ALL = ThreadQuery(50)


class App:
    """Two processes, and the overview of each."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.engine = cluster, cluster.engine
        self.processes = cluster.process(), cluster.process()
        self.overviews = tuple(self.overview(process.store, process) for process in self.processes)

    async def turn(self, thread_id: str, message: str = "hi") -> str:
        """Take a turn by the first process; a second later it is over."""
        run_id = await self.processes[0].run(message, thread_id)
        await self.cluster.sleep(1)
        return run_id

    def overview(self, store: Any = None, process: AppProcess | None = None, **more: Any) -> Overview:
        """Return one more, as of a process that has just started."""
        log = (process or self.processes[1]).log
        return Overview(
            Cells(store or self.processes[1].store, log), log, rest=0.0, **{"clock": self.cluster.wall, **more}
        )


@pytest.fixture
async def app() -> AsyncIterator[App]:
    cluster = Cluster(bounds={"patience_seconds": 0.1})
    yield App(cluster)
    await cluster.close()


async def runs_of(overview: Overview, app: App) -> int:
    figures = await overview.figures(AGENT, 30, Caller(app.engine))
    return sum(day.runs for _, day in figures.days)


@pytest.mark.behaviour("overview.newest")
async def test_a_deleted_thread_is_in_no_answer(app: App) -> None:
    await app.turn("kept")
    await app.turn("gone")
    await app.overviews[0].newest(AGENT, ALL, Caller(app.engine))
    await delete(app.processes[0], Address.of(AGENT, "gone"))

    page = await app.overviews[1].newest(AGENT, ALL, Caller(app.engine))
    later = app.overview(clock=lambda: app.cluster.wall() + 86_400)
    await later.refresh(AGENT, app.engine)
    left = await app.processes[1].store.events(Address(f"{AGENT.lower()}.overview", "threads"), 0)

    assert [address.thread_id for address, _ in page.threads] == ["kept"]
    assert b'"kept"' in left[0].payload
    assert all(b'"gone":{' not in event.payload for event in left)


@pytest.mark.behaviour("overview.figures")
async def test_figures_count_each_run_once_on_the_day_of_its_end(app: App) -> None:
    app.processes[0].agent.fails.append(ValueError("no"))
    for n in range(4):
        await app.turn(f"t{n % 2}")
        await runs_of(app.overviews[n % 2], app)

    (_, day), *others = (await app.overview().figures(AGENT, 30, Caller(app.engine))).days

    assert (day.runs, day.failed, day.cancelled, others) == (4, {"run_failed": 1}, 0, [])
    assert 0 < day.latency_of(0.5) <= day.latency_of(0.95) <= day.longest_seconds <= day.seconds


@pytest.mark.behaviour("overview.exact")
@pytest.mark.parametrize("failures", [1, 9])
@pytest.mark.parametrize("failure", ["lost", "answer lost"])
@pytest.mark.parametrize("at", range(3))
async def test_a_process_that_is_lost_around_any_append_counts_no_run_twice_and_none_less(
    app: App, failure: Failure, failures: int, at: int
) -> None:
    """Its reader is refused where the store stays away, else answered; whoever looks next knows all."""
    store = ArmedStore(app.processes[0].store)
    for n in range(3):
        await app.turn(f"t{n}")
        dying = app.overview(store)
        store.fails = [failure] * failures if n == at else []
        with pytest.raises(LogUnavailableError) if n == at and failures > 1 else nullcontext():
            assert await runs_of(dying, app) == n + 1

    assert await runs_of(app.overview(), app) == 3


@pytest.mark.behaviour("overview.exact")
async def test_processes_that_look_at_once_count_each_run_once(app: App) -> None:
    """One appends first; the other begins anew on what that one wrote. So at the first look, and at a later one."""
    counts = []
    for _ in range(2):
        for n in range(6):
            await app.turn(f"t{n % 3}")
        counts += await asyncio.gather(*(runs_of(overview, app) for overview in (*app.overviews, app.overview())))

    assert counts == [6, 6, 6, 12, 12, 12]
    assert await runs_of(app.overview(), app) == 12


@pytest.mark.behaviour("erasure.stored")
async def test_of_an_overview_that_is_erased_nothing_is_left(app: App) -> None:
    await app.turn("gone")
    await app.overviews[0].newest(AGENT, ALL, Caller(app.engine))
    address, store = Address(f"{AGENT.lower()}.overview", "threads"), app.processes[0].store
    await app.turn("later")
    store.before_forget = lambda: app.overviews[1].newest(AGENT, ALL, Caller(app.engine))

    await app.overviews[0].erase([AGENT], APP)

    assert (await store.head(address), await store.events(address, 0)) == (None, [])


@pytest.mark.behaviour("overview.exact")
async def test_a_log_that_grew_is_written_anew_and_says_the_same(app: App) -> None:
    """Also where threads have to be left out: their runs stay counted, and are not counted again."""
    small = app.overview(most_threads=3)
    for n in range(75):
        await app.turn(f"t{n % 6}")
        await runs_of(small, app)

    fresh = app.overview()
    head = await app.processes[0].store.head(Address(f"{AGENT.lower()}.overview", "threads"))

    assert head is not None
    assert b'"begins":0' not in head.payload
    assert await runs_of(fresh, app) == 75


@pytest.mark.behaviour("overview.free")
async def test_only_what_changed_is_read_and_a_turn_writes_nothing_for_it(app: App) -> None:
    """The engine is asked for what changed since; of other threads nothing is read."""
    for n in range(5):
        await app.turn(f"t{n}")
    store, overview = app.processes[1].store, app.overviews[1]
    await runs_of(overview, app)
    before = store.calls.copy()
    await runs_of(overview, app)
    of_nothing = store.calls - before
    await app.turn("t3")
    before = store.calls.copy()
    await runs_of(overview, app)
    of_one = store.calls - before

    assert of_nothing == {"head": 1}
    assert of_one == {"head": 2, "events": 1, "append": 1}
    assert app.engine.asked[0] is None
    assert all(since is not None for since in app.engine.asked[1:])


@pytest.mark.behaviour("overview.waiting")
async def test_what_waits_for_approval_is_found_across_threads(app: App) -> None:
    """Those that wait longest first; what was decided is not among them, also before the overview knows it."""
    one, place = app.processes[0], f"/api/agents/{AGENT}/threads/first/approvals"
    for thread_id in ("first", "second"):
        one.agent.asks = [thread_id]
        await app.turn(thread_id)
    waiting = await app.overviews[1].waiting([AGENT], ALL, Caller(app.engine))
    [asked] = (await one.http.get(place)).json()["approvals"]
    await one.http.post(f"{place}/{asked['id']}", json={"approved": True, "wait_for_response": False})
    left = await app.overviews[1].waiting([AGENT], ALL, Caller(app.engine))

    assert [address.thread_id for address, _ in waiting.threads] == ["first", "second"]
    assert [address.thread_id for address, _ in left.threads] == ["second"]


class Begun(Engine):
    """An engine that notes whose list is begun, and fails for the agents that are `broken`."""

    def __init__(self, *broken: str) -> None:
        super().__init__(time.time)
        self.broken = broken
        self.listed: list[str] = []

    async def list(self, entity: str, *page: Any) -> EntityPage:
        self.listed.append(entity.removeprefix(entity_name("")))
        if self.listed[-1] in self.broken:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        return await super().list(entity, *page)


class Unsearched:
    """A search that nobody has used."""

    async def find(self, *_: Any) -> FoundWords:
        return FoundWords((), None, 0, 0.0)

    async def update(self, *_: Any) -> None:
        """Do nothing."""

    async def owed(self) -> None:
        """Return that there is no engine."""


@pytest.mark.behaviour("erasure.sweep-turns")
async def test_overviews_are_brought_up_to_date_in_turns(app: App) -> None:
    engine, store, agents = Begun("ann"), MemoryObjects(), ("ann", "bob", "cid")
    overview = app.overviews[0]

    def sweep() -> OverviewSweep:
        return OverviewSweep(overview, lambda: agents, Rotation(store, "hub", "overview"), Unsearched())

    with pytest.raises(EngineUnavailableError):
        await sweep().run(engine)
    await store.put(StoreKey("hub.swept", "overview"), {"agent": b"ann"})  # as a process that died at it left it
    with pytest.raises(EngineUnavailableError):
        await sweep().run(engine)

    assert engine.listed == ["ann", "bob", "cid", "bob", "cid", "ann"]
