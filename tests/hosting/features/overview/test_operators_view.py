"""What an operator sees of all agents, over two processes and several owners."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from hosting.core.cells import Cells
from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.features.overview.operators_view import OperatorsView, Survey
from hosting.features.overview.overview import Overview
from hosting.http.verbs import FeedbackDay
from hosting.names import Address
from hosting.ports import Clocks, iso
from hosting.principal import Caller, Principal
from tests.support.process import ADDRESS, AGENT, ListedEngine, Process, call
from tests.support.threads import accepted, terms

ADA = Principal("https://login.example", "ada")
HOUR = 3600.0
Processes = tuple[Process, Process]

pytestmark = pytest.mark.behaviour("overview.operations")


@pytest.fixture
def engine() -> ListedEngine:
    return ListedEngine()


@pytest.fixture
def processes(engine: ListedEngine) -> Iterator[Processes]:
    shared, attachments = SharedMemory(), MemoryObjects()
    both = (Process(shared, attachments, engine), Process(shared, attachments, engine))
    yield both
    for process in both:
        process.agent.gate.set()
        process.loop.close()


async def no_feedback(agent: str, owner: str, days: Collection[str]) -> dict[str, FeedbackDay]:
    return {}


def view_of(process: Process, **bounds: int) -> OperatorsView:
    overview = Overview(Cells(process.store, process.log), process.log, rest=0.0)
    return OperatorsView(process.log, process.holders, overview, process.promised, no_feedback, **bounds)


async def survey(process: Process, owner: str | None = None, **bounds: int) -> Survey:
    return await view_of(process, **bounds).survey(AGENT, owner, HOUR, process.engine)


def committed(engine: Any, thread_id: str, owner: str = "app", ago: float = 0.0) -> None:
    engine.changed[Address.of(AGENT, thread_id, owner).entity[1]] = iso(time.time() - ago)


async def turn(process: Process, thread_id: str, principal: Principal | None = None) -> None:
    caller = Caller.of(process.engine, principal)
    started = await process.runs.start(AGENT, call(thread_id=thread_id), caller)
    await process.runs.wait(started.run, process.engine, 5.0)
    committed(process.engine, thread_id, caller.owner)


async def test_what_one_process_holds_the_other_finds_by_what_the_engine_says_changed(
    processes: Processes, engine: ListedEngine
) -> None:
    one, other = processes
    one.agent.gate.clear()
    await one.start(call("first"))
    queued = await one.start(call("second"))
    unknown = await survey(other)
    here = await survey(one)
    committed(engine, "t1")
    there = await survey(other)

    assert (unknown.open_runs, unknown.is_complete) == ([], True)
    assert [(len(seen.open_runs), seen.queued[0].id, seen.held_here) for seen in (here, there)] == [
        (2, queued.run_id, 1),
        (2, queued.run_id, 0),
    ]
    assert [address for address, _ in there.threads] == [ADDRESS]


async def test_a_survey_is_of_all_owners_or_of_one(processes: Processes, engine: ListedEngine) -> None:
    """Their threads of one id are two; today's figures are of all of them together."""
    one, other = processes
    other.agent.fails.append(ValueError("no"))
    await turn(one, "t1", ADA)
    await turn(other, "t1")

    everybody, ada = await survey(other), await survey(other, ADA.owner)

    assert sorted(address.owner for address, _ in everybody.threads) == sorted(["app", ADA.owner])
    assert [address.owner for address, _ in ada.threads] == [ADA.owner]
    assert (everybody.today.runs, everybody.today.failed) == (2, {"run_failed": 1})
    assert (ada.today.runs, ada.today.failed) == (1, {})


@pytest.mark.behaviour("overview.stuck")
async def test_a_survey_of_one_person_finds_what_the_engine_was_never_told(processes: Processes) -> None:
    """Runs on new threads, whose process died before their signal; however many threads there are, and says if more."""
    one, other = processes
    ada, ago = ADA.owner, time.time() - 5 * HOUR
    names = [f"t{n:03}" for n in range(201)]
    for name in names:
        event = accepted("r1", at=ago).model_copy(update={"thread_id": name})
        await one.log.execute(Address.of(AGENT, name, ada), AcceptRun(event, 32))
    await turn(one, "ended", ADA)
    other.engine.changed.clear()

    everybody, hers = await survey(other), await survey(other, ada)
    bounded = await survey(other, ada, most_named=200)

    assert everybody.threads == ()
    assert [address.thread_id for address, _ in hers.threads] == names
    assert [(one.address.thread_id, one.code) for one in hers.stuck] == [(name, "not_taken_up") for name in names]
    assert (hers.is_complete, bounded.is_complete, len(bounded.threads)) == (True, False, 199)


async def test_a_survey_is_bounded_and_says_so(processes: Processes, engine: ListedEngine) -> None:
    """The newest changes come first; what changed before the time asked for is not there."""
    one, _ = processes
    for name in ("a", "b", "c"):
        await turn(one, name)
    committed(engine, "a", ago=100)
    committed(engine, "c", ago=5 * HOUR)

    whole = await survey(one)
    by_heads, by_names = await survey(one, most_heads=1), await survey(one, most_named=1)

    assert [address.thread_id for address, _ in whole.threads] == ["b", "a"]
    assert (whole.is_complete, by_heads.is_complete, by_names.is_complete) == (True, False, False)
    assert [address.thread_id for address, _ in by_heads.threads] == ["b"]


async def stuck(process: Process, minutes: float) -> list[tuple[str, str | None]]:
    """Return what seems stuck to a process whose clock says that so many minutes have passed."""
    process.log.clocks = Clocks(lambda: time.time() + 60 * minutes)
    return [(one.code, one.run_id) for one in (await survey(process)).stuck]


@pytest.mark.behaviour("overview.stuck")
async def test_a_run_of_a_dead_process_is_stuck_to_the_other_and_one_that_is_held_to_nobody(
    processes: Processes, engine: ListedEngine
) -> None:
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    committed(engine, "t1")
    until = (await survey(other)).threads[0][1].claim.deadline - time.time()
    held = await stuck(one, 7)
    soon, later = await stuck(other, until / 60 + 0.9), await stuck(other, until / 60 + 1.1)
    event = accepted("r1", at=time.time()).model_copy(update={"agent": AGENT})
    claim = terms("elsewhere", deadline=time.time() + HOUR)
    await other.log.execute(Address.of(AGENT, "t2"), AcceptRun(event, 32, claim))
    committed(engine, "t2")

    assert (held, soon, later) == ([], [], [("out_of_time", run.run_id)])
    assert set(await stuck(other, 7)) == {("out_of_time", run.run_id), ("silent", "r1")}


@pytest.mark.behaviour("overview.stuck")
async def test_a_run_that_nobody_took_up_and_a_deletion_that_does_not_end_are_stuck(
    processes: Processes, engine: ListedEngine
) -> None:
    """The run after a minute, the deletion after five. The queue behind the run is not: it waits for its turn."""
    one, other = processes
    for run_id in ("r1", "r2"):
        event = accepted(run_id, at=time.time()).model_copy(update={"agent": AGENT})
        await one.log.execute(ADDRESS, AcceptRun(event, 32))
    await turn(one, "gone")
    await one.log.execute(Address.of(AGENT, "gone"), DeleteThread(time.time()))
    committed(engine, "t1")

    assert [await stuck(other, minutes) for minutes in (0.9, 1.1)] == [[], [("not_taken_up", "r1")]]
    assert set(await stuck(other, 7)) == {("not_taken_up", "r1"), ("deleting", None)}


@pytest.mark.behaviour("service.promised")
async def test_operations_counts_a_run_of_which_the_engine_knows_nothing_and_calls_it_stuck_within_a_minute(
    processes: Processes,
) -> None:
    one, other = processes
    run = await one.start(call(waits=False))
    one.die()

    first = await survey(other)
    other.log.clocks = Clocks(lambda: time.time() + 61)
    then = await survey(other)

    assert [one.id for one in first.queued] == [run.run_id]
    assert (first.stuck, [(one.run_id, one.code) for one in then.stuck]) == ((), [(run.run_id, "not_taken_up")])
