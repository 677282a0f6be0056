"""Schedules over the threads' log and in two processes: every tick begins one run, whatever dies."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from hosting.core.stores.contract import Append, StoredHead
from hosting.core.thread.run_request import RunRequest
from hosting.errors import (
    EngineUnavailableError,
    IdempotencyKeyReusedError,
    NewerVersionError,
)
from hosting.features.schedules.feature import SchedulesFeature
from hosting.features.schedules.http import schedule_fields
from hosting.features.schedules.requests import NewSchedule
from hosting.features.schedules.routes import TooManySchedulesError, UnknownScheduleError
from hosting.features.schedules.schedule import Schedule, ScheduleClock, ScheduleName, decode
from hosting.features.schedules.schedules import Schedules
from hosting.features.schedules.times import LATE_SECONDS, Missed, Times
from hosting.names import new_id
from hosting.principal import Caller, Principal
from tests.support.cluster.cluster import ADDRESS, AGENT, THREAD, AppProcess, Cluster
from tests.support.cluster.life import DiedError, Life

pytestmark = pytest.mark.moved_time
NOW = 1_800_000_000.0
HOURLY = Times("0 * * * *")
NEXT = 1_800_003_600.0 - 1_800_000_000 % 3600
ONE_TIME = Times(at=NOW + 60)


class Scheduling:
    """The schedules of one process of the app, which holds no run itself; all clocks of a Cluster are set at once."""

    def __init__(self, app: AppProcess) -> None:
        self.app, self.cluster, self.engine = app, app.cluster, app.cluster.engine
        self.knows_agents = True

    @property
    def now(self) -> float:
        """The wall clock of all processes."""
        return self.cluster.wall()

    @now.setter
    def now(self, seconds: float) -> None:
        self.cluster.wall_ahead = seconds - self.cluster.loop.time()

    @property
    def all(self) -> Schedules:
        return self.of(None)

    def of(self, principal: Principal | None) -> Schedules:
        """Return the schedules of somebody, None for the app's own."""
        schedules = self.app.feature(SchedulesFeature)._schedules(Caller.of(self.app.engine, principal))
        if not self.knows_agents:
            schedules._agents = {}
        return schedules

    async def made(self, times: Times = HOURLY, maker: Principal | None = None, **members: Any) -> ScheduleName:
        """Return a new schedule that runs on the thread `t1`."""
        wanted = replace(NewSchedule(times, "run_once", RunRequest(message="tick"), THREAD, None, None), **members)
        name, _, _ = await self.of(maker).create(AGENT, wanted)
        return name

    async def wake(self, name: ScheduleName, generation: int | None = None) -> float | None:
        if generation is None:
            generation = (await self.stored(name)).generation
        return await self.all.wake(name.clock(generation, NOW))

    async def stored(self, name: ScheduleName) -> Schedule:
        head = await self.app.store.head(name.cell.address)
        assert head is not None
        return decode(head.payload)

    async def runs(self) -> list[str]:
        events = await self.app.log.events(ADDRESS, 0)
        return [event.run_id for _, event in events if event.kind == "accepted"]


@pytest.fixture
def both(cluster: Cluster) -> tuple[Scheduling, Scheduling]:
    one, other = Scheduling(cluster.process()), Scheduling(cluster.process())
    one.now = NOW
    return one, other


@pytest.fixture
def one(both: tuple[Scheduling, Scheduling]) -> Scheduling:
    return both[0]


@pytest.mark.behaviour("schedules.one-run-per-tick")
async def test_a_tick_begins_one_run_however_many_clocks_wake(both: tuple[Scheduling, Scheduling]) -> None:
    """In two processes at once, and again; each says when to wake next."""
    name = await both[0].made()
    both[0].now = NEXT + 1

    woken = await asyncio.gather(*(scheduling.wake(name) for scheduling in both * 3))
    again = await both[1].wake(name)

    runs = await both[0].runs()
    last = (await both[1].stored(name)).last
    assert len(runs) == 1
    assert last is not None
    assert (last.tick, last.thread_id, last.run_id) == (NEXT, "t1", runs[0])
    assert {*woken, again} == {NEXT + 3600}


@pytest.mark.behaviour("schedules.one-run-per-tick")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
async def test_a_process_that_dies_at_any_call_leaves_the_tick_to_the_next(one: Scheduling, is_done: bool) -> None:
    """The tick is begun, its run accepted, what came of it recorded: none of them is lost or done twice."""
    name = await one.made()
    one.now = NEXT
    for ends_at in itertools.count(1):
        again = one.cluster.again()
        life, other = Life(ends_at, is_done=is_done), Scheduling(again.process())
        with suppress(DiedError):
            await Scheduling(again.process(life)).wake(name)
        following = await other.wake(name)
        schedule = await other.stored(name)
        assert schedule.last is not None
        assert await other.runs() == [schedule.last.run_id]
        assert (schedule.begun, schedule.done, following) == (None, NEXT, NEXT + 3600)
        if not life.is_over:
            break
    assert ends_at > 4


@pytest.mark.behaviour("schedules.missed")
@pytest.mark.parametrize("missed", ["run_once", "skip"])
async def test_ticks_that_were_missed_run_once_or_never(one: Scheduling, missed: Missed) -> None:
    """When no process ran for a day: the newest of them, or none; then it goes on as before."""
    name = await one.made(missed=missed)
    one.now = NEXT + 86_400 + LATE_SECONDS + 1

    following = await one.wake(name)

    schedule = await one.stored(name)
    assert len(await one.runs()) == (1 if missed == "run_once" else 0)
    assert (schedule.last and schedule.last.tick, schedule.last_missed) == (
        (NEXT + 86_400, None) if missed == "run_once" else (None, NEXT + 86_400)
    )
    assert following == NEXT + 86_400 + 3600


@pytest.mark.behaviour("schedules.clock-ahead")
@pytest.mark.parametrize(
    ("missed", "ahead_seconds"), [("run_once", 3700.0), ("skip", 30 * 86_400.0)], ids=["an hour", "a month"]
)
@pytest.mark.parametrize("reads", ["find", "list", "resume", "wake"])
async def test_a_clock_that_was_ahead_for_a_minute_silences_no_tick(
    one: Scheduling, reads: str, missed: Missed, ahead_seconds: float
) -> None:
    name = await one.made(thread_id=None, missed=missed)
    one.now = NEXT + ahead_seconds - 30
    await one.wake(name)
    one.now = NEXT - 30
    clocks = set(one.engine.clocks)

    if reads == "find":
        seen = await one.all.find(name)
    elif reads == "list":
        [(_, seen)] = await one.all.of_agent(AGENT)
    elif reads == "resume":
        seen = await one.all.resume(name)
    else:
        assert await one.wake(name) == NEXT
        seen = await one.stored(name)

    assert seen.next_tick == NEXT
    assert reads == "wake" or (len(one.engine.clocks), set(one.engine.clocks) & clocks) == (1, set())
    one.now = NEXT + 1
    assert await one.wake(name) == NEXT + 3600 * (2 if seen.spans[-1:] == ((NEXT + 3600,) * 2,) else 1)
    last = (await one.stored(name)).last
    assert last is not None
    assert (last.tick, last.run_id is not None) == (NEXT, True)


@pytest.mark.behaviour("schedules.times")
async def test_a_clock_that_is_set_back_repeats_no_tick(one: Scheduling) -> None:
    name = await one.made(Times("*/10 * * * *"))
    for minutes in range(-50, 60, 10):
        one.now = NEXT + minutes * 60
        await one.wake(name)
    runs, clocks, last = await one.runs(), dict(one.engine.clocks), (await one.stored(name)).last
    for minutes in range(-5, 59):
        one.now = NEXT + minutes * 60
        await one.wake(name)
        assert (await one.all.find(name)).last == last

    assert (await one.runs(), one.engine.clocks) == (runs, clocks)
    one.now = NEXT + 3600
    await one.wake(name)
    assert len(await one.runs()) == len(runs) + 1


@pytest.mark.behaviour("schedules.paused")
async def test_a_paused_schedule_begins_nothing_and_makes_up_for_nothing(one: Scheduling) -> None:
    """Its clock goes, and a new one comes when it is resumed; an old one that wakes late ends."""
    name = await one.made()
    old = await one.stored(name)

    paused = await one.all.pause(name)
    clocks_of_paused = dict(one.engine.clocks)
    one.now = NEXT + 10
    woken = await one.wake(name, old.generation)
    resumed = await one.all.resume(name)
    late = await one.wake(name, old.generation)

    assert (paused.paused, clocks_of_paused, woken, late) == (True, {}, None, None)
    assert (resumed.paused, resumed.next_tick, await one.runs()) == (False, NEXT + 3600, [])
    assert [ScheduleClock.read(given["clock"]).generation for _, given in one.engine.clocks.values()] == [
        resumed.generation
    ]
    one.now = NEXT + 3600
    await one.wake(name)
    assert len(await one.runs()) == 1


@pytest.mark.behaviour("schedules.paused")
@pytest.mark.parametrize("verb", ["pause", "delete"])
async def test_a_tick_under_way_has_its_run_before_the_schedule_is_paused_or_gone(
    both: tuple[Scheduling, Scheduling], verb: str
) -> None:
    one, other = both
    name = await one.made()
    one.now = NEXT
    waking = asyncio.ensure_future(one.wake(name, int(NOW)))

    async with one.app.store.holding("append"):  # the tick is begun, and nobody has started its run
        before = await other.runs()
        await getattr(other.all, verb)(name)
        runs = await other.runs()
    await waking

    assert (before, len(runs)) == ([], 1)
    assert await other.runs() == runs
    assert other.engine.clocks == {}
    if verb == "delete":
        assert await other.app.store.head(name.cell.address) is None
    else:
        assert (await other.stored(name)).last


@pytest.mark.behaviour("schedules.deleted")
async def test_of_a_deleted_schedule_nothing_is_left(one: Scheduling) -> None:
    """Neither it nor its clock; a clock that wakes all the same begins nothing, and it is deleted again."""
    name = await one.made()
    await one.all.delete(name)
    one.now = NEXT

    woken = await one.wake(name, int(NOW))
    await one.all.delete(name)

    assert (woken, one.engine.clocks, await one.runs()) == (None, {}, [])
    assert len(one.engine.purged) == 1
    assert await one.all.of_agent(AGENT) == []
    for ask in (one.all.find, one.all.pause, one.all.resume):
        with pytest.raises(UnknownScheduleError):
            await ask(name)


@pytest.mark.behaviour("schedules.made-once")
async def test_a_key_makes_one_schedule(both: tuple[Scheduling, Scheduling]) -> None:
    """At both processes at once, and again; another schedule with it is refused."""
    names = await asyncio.gather(*(scheduling.made(key="k") for scheduling in both * 2))

    assert len(set(names)) == 1
    assert len(await both[0].all.of_agent(AGENT)) == 1
    with pytest.raises(IdempotencyKeyReusedError):
        await both[0].made(key="k", times=ONE_TIME)


@pytest.mark.behaviour("schedules.made-once")
async def test_a_key_still_names_its_schedule_once_the_time_of_that_has_passed(one: Scheduling) -> None:
    """A caller whose answer was lost repeats the same request, however late."""
    name = await one.made(ONE_TIME, key="k")
    one.now += 120.0

    assert await one.made(ONE_TIME, key="k") == name


@pytest.mark.behaviour("schedules.owners")
async def test_no_burst_makes_more_schedules_than_an_owner_may_have(both: tuple[Scheduling, Scheduling]) -> None:
    """Of two processes at the same moment; a place that was given back is free at once, and that of a maker who died
    after its time."""
    one = both[0]
    both = Scheduling(one.cluster.process(AGENT_SCHEDULES="3")), Scheduling(one.cluster.process(AGENT_SCHEDULES="3"))
    answers = await asyncio.gather(*(each.made() for each in both * 10), return_exceptions=True)
    names = [answer for answer in answers if isinstance(answer, ScheduleName)]

    assert len(names) == len(await one.all.of_agent(AGENT)) == len(one.engine.clocks) == 3
    assert {type(answer) for answer in answers} == {ScheduleName, TooManySchedulesError}
    await one.all.delete(names[0])
    await both[0].made()
    await one.all.delete(names[1])
    one.engine.is_away = True
    with pytest.raises(EngineUnavailableError):
        await both[1].made()
    one.engine.is_away = False
    await both[1].made()
    with pytest.raises(TooManySchedulesError):
        await both[0].made()


@pytest.mark.behaviour("schedules.new-agent")
@pytest.mark.parametrize("policy", ["run_once", "skip"])
async def test_a_tick_that_an_older_process_was_handed_is_looked_at_again_within_a_minute(
    one: Scheduling, policy: Missed
) -> None:
    """It does not have the agent yet, and says nothing of it: a process of the newer version runs the tick in time."""
    name = await one.made(ONE_TIME, missed=policy)
    one.knows_agents = False

    early = await one.wake(name)
    one.now = NOW + 60
    looks = [await one.wake(name)]
    one.now = NOW + 90
    looks += [await one.wake(name)]
    one.knows_agents = True
    one.now = NOW + 120
    ended = await one.wake(name)

    assert (early, looks, ended) == (NOW + 60, [NOW + 90, NOW + 120], None)
    assert len(await one.runs()) == 1


@pytest.mark.behaviour("schedules.unknown-times")
@pytest.mark.parametrize(
    "members", [{"time_zone": "Mars/Olympus_Mons"}, {"cron": "0 0 * * SOL"}], ids=["zone", "expression"]
)
async def test_a_schedule_whose_times_are_not_known_says_so_and_waits(
    one: Scheduling, members: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """As on a machine with another tz database: the others are listed and run, and it goes on where it is known."""
    name, other = await one.made(), await one.made()
    await rewritten(one, name, members)
    one.now = NEXT

    shown = [schedule_fields(*schedule) for schedule in await one.all.of_agent(AGENT)]
    slept = [await one.wake(name), await one.wake(other)]
    lost, found = sorted(shown, key=lambda schedule: schedule["problem"] is None)

    assert [lost[member] for member in ("schedule_id", "status", "next_run_at")] == [name.id, "active", None]
    assert all(value in str(lost["problem"]) for value in members.values())
    assert (found["schedule_id"], found["problem"], found["next_run_at"] is None) == (other.id, None, False)
    assert slept == pytest.approx([NEXT + 3600] * 2, rel=0, abs=1)
    assert (len(await one.runs()), str(lost["problem"]) in caplog.text, "Traceback" in caplog.text) == (1, True, False)

    paused = await one.all.pause(name)
    resumed = await one.all.resume(name)
    assert (paused.paused, resumed.paused, len(one.engine.clocks)) == (True, False, 2)
    assert await one.wake(name) == pytest.approx(NEXT + 3600, rel=0, abs=1)

    await rewritten(one, name, {"time_zone": "UTC", "cron": "0 * * * *"})
    one.now = NEXT + 3600
    await one.wake(name)
    assert len(await one.runs()) == 2


@pytest.mark.behaviour("schedules.clock-lost")
async def test_an_engine_that_takes_no_clock_makes_no_schedule(one: Scheduling) -> None:
    one.engine.is_away = True
    with pytest.raises(EngineUnavailableError):
        await one.made()
    one.engine.is_away = False
    refused = await one.all.of_agent(AGENT)

    name = await one.made()

    assert (refused, list(one.engine.clocks)) == ([], [name.clock((await one.stored(name)).generation, NOW).instance])


@pytest.mark.behaviour("schedules.clock-lost")
async def test_whoever_reads_a_schedule_that_is_overdue_starts_its_clock_again(one: Scheduling) -> None:
    """An engine that was restored has none; one that sleeps is left alone, and so is a tick that comes soon."""
    name = await one.made()
    one.engine.clocks.clear()

    await one.all.find(name)
    before = dict(one.engine.clocks)
    one.now = NEXT + 200
    await one.all.of_agent(AGENT)
    after = dict(one.engine.clocks)
    await one.all.find(name)

    assert (before, len(after)) == ({}, 1)
    assert one.engine.clocks == after


@pytest.mark.behaviour("schedules.versions")
async def test_what_a_later_version_added_stays_and_what_it_decides_is_left_to_it(one: Scheduling) -> None:
    """A member that is unknown is written back; a schedule of a newer version is not touched."""
    name = await one.made()
    await rewritten(one, name, {"color": "red"})
    await one.all.pause(name)
    assert (await one.stored(name)).model_extra == {"color": "red"}

    await rewritten(one, name, {"v": 2, "paused": False})
    with pytest.raises(NewerVersionError):
        await one.all.resume(name)
    one.now = NEXT
    assert await one.wake(name, int(NOW)) == pytest.approx(NEXT + 30, rel=0, abs=1)
    assert await one.runs() == []


async def rewritten(one: Scheduling, name: ScheduleName, members: dict[str, Any]) -> None:
    """Store a schedule with other members, as another version would."""
    known = await one.app.store.head(name.cell.address)
    assert known is not None
    payload = decode(known.payload).model_copy(update=members).model_dump_json().encode()
    await one.app.store.append(name.cell.address, known, Append(StoredHead(known.position, new_id(), payload)))
