"""What an operator sees of all agents, over two processes and several owners, and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Any

import pytest

from hosting.core.cells import Cells
from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.features.overview.operators_view import OperatorsView, Survey
from hosting.features.overview.overview import Overview
from hosting.http.verbs import FeedbackDay
from hosting.names import Address
from hosting.ports import utc
from hosting.principal import Caller, Principal
from tests.support.carriers import Api
from tests.support.cluster.cluster import ADDRESS, AGENT, AppProcess, Cluster, call
from tests.support.cluster.engine import instance_of
from tests.support.owned_app import OwnedApp, owner, with_roles
from tests.support.threads import accepted, terms

ADA = Principal("https://login.example", "ada")
HOUR = 3600.0
Processes = tuple[AppProcess, AppProcess]


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    cluster = Cluster(settings={"AGENT_RUN_TIMEOUT_SECONDS": "60"})
    yield cluster.process(), cluster.process()
    await cluster.close()


async def no_feedback(agent: str, owner: str, days: Collection[str]) -> dict[str, FeedbackDay]:
    return {}


def view_of(process: AppProcess, **bounds: int) -> OperatorsView:
    overview = Overview(Cells(process.store, process.log), process.log, process.cluster.wall, rest=0.0)
    return OperatorsView(process.log, process.holders, overview, process.promised, no_feedback, **bounds)


async def survey(process: AppProcess, owner: str | None = None, **bounds: int) -> Survey:
    return await view_of(process, **bounds).survey(AGENT, owner, HOUR, process.engine)


def committed(process: AppProcess, thread_id: str, owner: str = "app", ago: float = 0.0) -> None:
    cluster = process.cluster
    cluster.engine.changed[instance_of(*Address.of(AGENT, thread_id, owner).entity)] = utc(cluster.wall() - ago)


async def turn(process: AppProcess, thread_id: str, principal: Principal | None = None) -> None:
    caller = Caller.of(process.engine, principal)
    run = await process.start(call(thread_id=thread_id), caller)
    await process.runs.wait(run, process.engine, 5.0)
    committed(process, thread_id, caller.owner)


@pytest.mark.moved_time
@pytest.mark.behaviour("overview.operations")
async def test_a_survey_is_of_all_owners_or_of_one(processes: Processes) -> None:
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


@pytest.mark.moved_time
@pytest.mark.behaviour("overview.operations")
@pytest.mark.behaviour("overview.stuck")
async def test_a_survey_of_one_person_finds_what_the_engine_was_never_told(processes: Processes) -> None:
    """Runs on new threads, whose process died before their signal; however many threads there are, and says if more."""
    one, other = processes
    ada, ago = ADA.owner, one.cluster.wall() - 5 * HOUR
    names = [f"t{n:03}" for n in range(201)]
    for name in names:
        event = accepted("r1", at=ago).model_copy(update={"thread_id": name})
        await one.log.execute(Address.of(AGENT, name, ada), AcceptRun(event, 32))
    await turn(one, "ended", ADA)
    other.cluster.engine.changed.clear()

    everybody, hers = await survey(other), await survey(other, ada)
    bounded = await survey(other, ada, most_named=200)

    assert everybody.threads == ()
    assert [address.thread_id for address, _ in hers.threads] == names
    assert [(one.address.thread_id, one.code) for one in hers.stuck] == [(name, "not_taken_up") for name in names]
    assert (hers.is_complete, bounded.is_complete, len(bounded.threads)) == (True, False, 199)


@pytest.mark.moved_time
@pytest.mark.behaviour("overview.operations")
async def test_a_survey_is_bounded_and_says_so(processes: Processes) -> None:
    """The newest changes come first; what changed before the time asked for is not there."""
    one, _ = processes
    for name in ("a", "b", "c"):
        await turn(one, name)
    committed(one, "a", ago=100)
    committed(one, "c", ago=5 * HOUR)

    whole = await survey(one)
    by_heads, by_names = await survey(one, most_heads=1), await survey(one, most_named=1)

    assert [address.thread_id for address, _ in whole.threads] == ["b", "a"]
    assert (whole.is_complete, by_heads.is_complete, by_names.is_complete) == (True, False, False)
    assert [address.thread_id for address, _ in by_heads.threads] == ["b"]


async def stuck(process: AppProcess, minutes: float) -> list[tuple[str, str | None]]:
    """Return what seems stuck to a process whose clock says that so many minutes have passed."""
    process.cluster.wall_ahead += 60 * minutes
    seen: list[tuple[str, str | None]] = [(one.code, one.run_id) for one in (await survey(process)).stuck]
    process.cluster.wall_ahead -= 60 * minutes
    return seen


@pytest.mark.moved_time
@pytest.mark.behaviour("overview.operations")
@pytest.mark.behaviour("overview.stuck")
async def test_a_run_of_a_dead_process_is_stuck_to_the_other_and_one_that_is_held_to_nobody(
    processes: Processes,
) -> None:
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    committed(one, "t1")
    until = (await survey(other)).threads[0][1].claim.deadline - one.cluster.wall()  # type: ignore[union-attr]
    held = await stuck(one, 7)
    soon, later = await stuck(other, until / 60 + 0.9), await stuck(other, until / 60 + 1.1)
    event = accepted("r1", at=one.cluster.wall()).model_copy(update={"agent": AGENT})
    claim = terms("elsewhere", deadline=one.cluster.wall() + HOUR)
    await other.log.execute(Address.of(AGENT, "t2"), AcceptRun(event, 32, claim))
    committed(one, "t2")

    assert (held, soon, later) == ([], [], [("out_of_time", run.run_id)])
    assert set(await stuck(other, 7)) == {("out_of_time", run.run_id), ("silent", "r1")}


@pytest.mark.moved_time
@pytest.mark.behaviour("overview.operations")
@pytest.mark.behaviour("overview.stuck")
async def test_a_run_that_nobody_took_up_and_a_deletion_that_does_not_end_are_stuck(processes: Processes) -> None:
    """The run after a minute, the deletion after five. The queue behind the run is not: it waits for its turn."""
    one, other = processes
    for run_id in ("r1", "r2"):
        event = accepted(run_id, at=one.cluster.wall()).model_copy(update={"agent": AGENT})
        await one.log.execute(ADDRESS, AcceptRun(event, 32))
    await turn(one, "gone")
    await one.log.execute(Address.of(AGENT, "gone"), DeleteThread(one.cluster.wall()))
    committed(one, "t1")

    assert [await stuck(other, minutes) for minutes in (0.9, 1.1)] == [[], [("not_taken_up", "r1")]]
    assert set(await stuck(other, 7)) == {("not_taken_up", "r1"), ("deleting", None)}


URL = "/api/operations"
GUARD_SECONDS = 30.0
"""The figures follow the engine's list, which a busy machine brings up to date late."""


async def agent_of(api: Api, name: str = "Joker", **query: Any) -> dict[str, Any]:
    answer = await api.http.get(URL, params=query)
    assert answer.status_code == 200, answer.text
    return next(dict(one) for one in answer.json()["agents"] if one["agent"] == name)


async def around_a_failure(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the agent is at before and after a run that fails, both of one day: at midnight it is asked again."""
    before = await agent_of(api)
    await api.ask("fail", thread_id="operated")
    end = asyncio.get_running_loop().time() + GUARD_SECONDS
    while (after := await agent_of(api))["today"] == before["today"]:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.05)
    return (before, after) if after["today"]["day"] == before["today"]["day"] else await around_a_failure(api)


@pytest.mark.behaviour("overview.operations")
@pytest.mark.slow
async def test_runs_that_are_queued_and_running_are_counted_with_what_ended_today(socket: Api) -> None:
    """Over the engine's own list of what changed; and the calls of the store, by this process, for each agent."""
    called = (await socket.http.get(URL)).json()["store_calls_here"]
    before, after = await around_a_failure(socket)
    await socket.entries("operated", turns=1)
    end = asyncio.get_running_loop().time() + GUARD_SECONDS
    runs = [await socket.ask(message, thread_id="operated", wait_for_response=False) for message in ("sleep 30", "hi")]
    while (busy := await agent_of(socket))["running"] == 0:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.05)
    for run in reversed(runs):
        await socket.http.post(f"{run.headers['location']}/cancel")
    refused = await socket.http.get(URL, params={"hours": 721})
    while (stopped := await agent_of(socket))["today"]["cancelled"] < after["today"]["cancelled"] + 2:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.05)
    last = (await socket.http.get(URL)).json()
    calls, every = last["store_calls_here"], last["agents"]

    assert after["today"]["failures"]["run_failed"] == before["today"]["failures"].get("run_failed", 0) + 1
    assert stopped["today"]["failures"] == after["today"]["failures"]
    assert (busy["running"], busy["running_here"], busy["queued"], busy["attempts"]) == (1, 1, 1, 1)
    assert busy["oldest_queued_at"] is not None
    assert busy["store_calls_here"]["append"] >= before["store_calls_here"]["append"] + 4
    assert sum(one["store_calls_here"]["append"] for one in every) == calls["append"]
    assert calls["read"] > called["read"]
    assert (calls["append"] >= called["append"] + 4, calls["failed"]) == (True, called["failed"])
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field")


@pytest.mark.behaviour("overview.operations")
async def test_an_app_that_knows_its_callers_shows_it_to_administrators_alone() -> None:
    """Of all owners, or of one; what the engine has not been asked for is not there."""
    owned = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators")
    async with owned.http:
        told = [(await owned.ask(user, "GET", "/api/agents")).json()["operations_url"] for user in ("ada", "root")]
        refused = [await owned.ask("ada", "GET", path) for path in (URL, f"{URL}?owner={owner('ada')}")]
        unsigned = await owned.ask(None, "GET", URL)

    assert [(one.status_code, one.json()["code"]) for one in refused] == [(403, "forbidden")] * 2
    assert unsigned.status_code == 401
    assert told == [None, f"http://app.example{URL}"]
