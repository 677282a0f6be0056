"""Runs that a process holds, when callers leave, engines fail, claims are lost and processes stop."""

from __future__ import annotations

import asyncio
import logging

import pytest

from hosting.core.stores.contract import Append, Appended, StoredHead
from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.events import Failed
from hosting.errors import EngineUnavailableError, NewerVersionError
from hosting.names import Address
from hosting.ports import Clocks
from tests.support.process import ADDRESS, AGENT, LEASE_SECONDS, Engine, Process, call

Processes = tuple[Process, Process]


@pytest.mark.behaviour("service.runs-here")
async def test_a_request_cancelled_while_its_run_is_appended_leaves_a_run_that_ends(processes: Processes) -> None:
    """Its append may count: then somebody holds it, and its signal is taken."""
    one, other = processes
    one.store.fails = ["answer lost"]
    starting = asyncio.ensure_future(one.start(call(key="k")))
    await asyncio.sleep(0.02)
    starting.cancel()
    await asyncio.wait((starting,))

    found = await other.start(call(key="k"))

    assert (await other.runs.wait(found, other.engine, 1.0)).end is not None
    assert len(one.agent.turns) == 1


@pytest.mark.behaviour("service.runs-here")
async def test_a_process_claims_no_more_runs_than_it_may_hold() -> None:
    """However many requests come before the first of them is accepted."""
    process = Process(SharedMemory(), MemoryObjects(), Engine(), most=1)
    process.agent.gate.clear()
    process.store.before_append = lambda: asyncio.sleep(0)
    starts = [process.start(call(thread_id=None)) for _ in range(3)]
    runs = await asyncio.gather(*starts)

    assert sum(process.holders.held.get(run.run_id) is not None for run in runs) == 1
    await process.holders.drain(0.0)
    process.loop.close()


@pytest.mark.behaviour("service.cancel")
async def test_a_cancel_in_the_process_that_holds_the_run_is_seen_at_once(process: Process) -> None:
    process.agent.gate.clear()
    run = await process.start(call())
    held = process.holders.held.get(run.run_id)

    await process.runs.cancel(Address.of(AGENT, "t1"), run.run_id, process.engine)

    assert held is not None
    assert held.stop.is_requested


@pytest.mark.behaviour("service.looks")
async def test_a_thread_that_a_newer_version_works_on_keeps_no_other_run_from_being_looked_after(
    processes: Processes,
) -> None:
    one, other = processes
    one.agent.gate.clear()
    await one.start(call(thread_id="t2"))
    run = await one.start(call())
    await came_newer(one, Address.of(AGENT, "t2"))
    await asyncio.sleep(0.1)

    await other.runs.cancel(Address.of(AGENT, "t1"), run.run_id, other.engine)
    ended = await one.runs.wait(run, one.engine, 1.0)
    one.agent.gate.set()

    assert ended.end is not None


@pytest.mark.slow
@pytest.mark.behaviour("service.versions")
async def test_a_run_to_whose_thread_a_newer_version_came_is_stopped_and_let_go_of(
    process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    """Its caller is told to come again, and the log in one sentence why; the thread stays as that version left it."""
    process.agent.gate.clear()
    run = await process.start(call())
    newer = await came_newer(process, ADDRESS)
    asyncio.get_running_loop().call_later(0.2, process.agent.gate.set)  # a thread, which nobody can stop

    with pytest.raises(NewerVersionError):
        await process.runs.wait(run, process.engine, 5.0)

    text = [record for record in caplog.records if record.name == "hosting.core.held_runs"]
    assert [(record.levelno, record.exc_info) for record in text] == [(logging.WARNING, None)]
    assert await process.store.head(ADDRESS) == newer


async def came_newer(process: Process, address: Address) -> StoredHead:
    known = await process.store.head(address)
    assert known is not None
    newer = StoredHead(known.position + 1, "newer", known.payload.replace(b'"v":1', b'"v":99', 1))
    appended = await process.store.append(address, known, Append(newer, (b'{"v":99,"kind":"unheard_of"}',)))
    assert isinstance(appended, Appended)
    return appended.head


@pytest.mark.behaviour("service.unreadable")
@pytest.mark.parametrize("stored", ["no JSON", '{"schemaVersion": "9.0.0", "data": {}}'])
async def test_a_run_whose_document_cannot_be_read_fails_by_that_name(process: Process, stored: str) -> None:
    process.engine.documents["t1"] = stored
    run = await process.start(call())

    ended = await process.runs.wait(run, process.engine, 1.0)

    assert isinstance(ended.end, Failed)
    assert ended.end.code == "unreadable_state"


@pytest.mark.behaviour("service.leave")
async def test_a_run_that_has_not_begun_when_its_process_is_told_to_stop_is_handed_on(process: Process) -> None:
    process.engine.gate.clear()
    starting = asyncio.ensure_future(process.start(call()))
    await asyncio.sleep(0.02)
    leaving = asyncio.ensure_future(process.holders.drain(0.0))
    await asyncio.sleep(0.02)
    process.engine.gate.set()
    await asyncio.gather(starting, leaving)

    assert await process.kinds() == ["accepted", "claimed", "released"]


@pytest.mark.behaviour("service.runs-here")
async def test_an_answer_longer_than_a_follower_may_fall_behind_ends_its_callers_wait(process: Process) -> None:
    run = await process.start(call("x" * 1_000_001, streams=True))

    assert (await process.runs.wait(run, process.engine, 2.0)).end is not None


@pytest.mark.behaviour("service.promises")
async def test_a_caller_is_told_that_its_signal_failed_when_its_run_is_taken_back(process: Process) -> None:
    process.engine.gate.clear()
    starting = asyncio.ensure_future(process.start(call(key="k")))
    await asyncio.sleep(0.02)
    process.store.before_append = lambda: asyncio.sleep(0.02)
    process.engine.is_away = True
    process.engine.gate.set()

    with pytest.raises(EngineUnavailableError):
        await starting
    assert await process.kinds() == ["accepted", "claimed", "cancel_requested", "released", "cancelled"]


@pytest.mark.behaviour("runner.lease")
async def test_the_lease_of_a_claim_counts_from_before_its_append(process: Process) -> None:
    """Others count it from when it stands in the log, however late the store answers."""
    now = 100.0
    process.log.clocks = Clocks(awake=lambda: now)
    process.agent.gate.clear()

    async def take_long() -> None:
        nonlocal now
        now += 2 * LEASE_SECONDS

    process.store.before_append = take_long
    run = await process.start(call())
    has_lease = process.holders.held[run.run_id].has_lease
    process.agent.gate.set()

    assert not has_lease
    await process.runs.wait(run, process.engine, 5.0)
