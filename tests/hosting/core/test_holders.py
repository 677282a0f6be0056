"""Runs that a process holds, when callers leave, engines fail, claims are lost and processes stop."""

from __future__ import annotations

import asyncio
import logging

import pytest

from hosting.core.stores.contract import Append, Appended, StoredHead
from hosting.core.thread.events import Failed
from hosting.errors import EngineUnavailableError, NewerVersionError
from hosting.names import Address
from hosting.ports import Clocks
from tests.support.cluster.cluster import ADDRESS, AGENT, INSTANCE, LEASE_SECONDS, AppProcess, call

pytestmark = pytest.mark.moved_time

Processes = tuple[AppProcess, AppProcess]


@pytest.mark.behaviour("service.runs-here")
async def test_a_request_cancelled_while_its_run_is_appended_leaves_a_run_that_ends(two: Processes) -> None:
    """Its append may count: then somebody holds it, and its signal is taken."""
    one, other = two
    one.store.fails = ["answer lost"]
    starting = asyncio.ensure_future(one.start(call(key="k")))
    await asyncio.sleep(0.02)
    starting.cancel()
    await asyncio.wait((starting,))

    found = await other.start(call(key="k"))

    assert (await other.runs.wait(found, other.engine, 1.0)).end is not None
    assert len(one.agent.turns) == 1


@pytest.mark.behaviour("service.looks")
async def test_a_thread_that_a_newer_version_works_on_keeps_no_other_run_from_being_looked_after(
    two: Processes,
) -> None:
    one, other = two
    one.agent.gate.clear()
    await one.start(call(thread_id="t2"))
    run = await one.start(call())
    await came_newer(one, Address.of(AGENT, "t2"))
    await asyncio.sleep(0.1)

    await other.runs.cancel(ADDRESS, run.run_id, other.engine)
    ended = await one.runs.wait(run, one.engine, 1.0)
    one.agent.gate.set()

    assert ended.end is not None


@pytest.mark.behaviour("service.versions")
async def test_a_run_to_whose_thread_a_newer_version_came_is_stopped_and_let_go_of(
    app: AppProcess, caplog: pytest.LogCaptureFixture
) -> None:
    """Its caller is told to come again, and the log in one sentence why; the thread stays as that version left it."""
    app.agent.gate.clear()
    run = await app.start(call())
    newer = await came_newer(app, ADDRESS)
    asyncio.get_running_loop().call_later(0.2, app.agent.gate.set)  # a thread, which nobody can stop

    with pytest.raises(NewerVersionError):
        await app.runs.wait(run, app.engine, 5.0)

    text = [record for record in caplog.records if record.name == "hosting.core.held_runs"]
    assert [(record.levelno, record.exc_info) for record in text] == [(logging.WARNING, None)]
    assert await app.store.head(ADDRESS) == newer


async def came_newer(app: AppProcess, address: Address) -> StoredHead:
    known = await app.store.head(address)
    assert known is not None
    newer = StoredHead(known.position + 1, "newer", known.payload.replace(b'"v":1', b'"v":99', 1))
    appended = await app.store.append(address, known, Append(newer, (b'{"v":99,"kind":"unheard_of"}',)))
    assert isinstance(appended, Appended)
    return appended.head


@pytest.mark.behaviour("service.unreadable")
@pytest.mark.parametrize("stored", ["no JSON", '{"schemaVersion": "9.0.0", "data": {}}'])
async def test_a_run_whose_document_cannot_be_read_fails_by_that_name(app: AppProcess, stored: str) -> None:
    app.engine.documents[INSTANCE] = stored
    run = await app.start(call())

    ended = await app.runs.wait(run, app.engine, 1.0)

    assert isinstance(ended.end, Failed)
    assert ended.end.code == "unreadable_state"


@pytest.mark.behaviour("service.leave")
async def test_a_run_that_has_not_begun_when_its_process_is_told_to_stop_is_handed_on(app: AppProcess) -> None:
    app.engine.gate.clear()
    app.agent.gate.clear()
    starting = asyncio.ensure_future(app.start(call()))
    await asyncio.sleep(0.02)
    leaving = asyncio.ensure_future(app.holders.drain(0.0))
    await asyncio.sleep(0.02)
    app.engine.gate.set()
    await asyncio.gather(starting, leaving)

    assert await app.kinds() == ["accepted", "claimed", "released"]


@pytest.mark.behaviour("service.runs-here")
async def test_an_answer_longer_than_a_follower_may_fall_behind_ends_its_callers_wait(app: AppProcess) -> None:
    run = await app.start(call("x" * 1_000_001, streams=True))

    assert (await app.runs.wait(run, app.engine, 2.0)).end is not None


@pytest.mark.behaviour("service.promises")
async def test_a_caller_is_told_that_its_signal_failed_when_its_run_is_taken_back(app: AppProcess) -> None:
    app.engine.gate.clear()
    starting = asyncio.ensure_future(app.start(call(key="k")))
    await asyncio.sleep(0.02)
    app.store.before_append = lambda: asyncio.sleep(0.02)
    app.engine.is_away = True
    app.engine.gate.set()

    with pytest.raises(EngineUnavailableError):
        await starting
    assert await app.kinds() == ["accepted", "claimed", "cancel_requested", "released", "cancelled"]


@pytest.mark.behaviour("runner.lease")
async def test_the_lease_of_a_claim_counts_from_before_its_append(app: AppProcess) -> None:
    """Others count it from when it stands in the log, however late the store answers."""
    now = 100.0
    app.log.clocks = Clocks(awake=lambda: now)
    app.agent.gate.clear()

    async def take_long() -> None:
        nonlocal now
        now += 2 * LEASE_SECONDS

    app.store.before_append = take_long
    run = await app.start(call())
    has_lease = app.holders.held[run.run_id].has_lease
    app.agent.gate.set()

    assert not has_lease
    await app.runs.wait(run, app.engine, 5.0)
