"""Events of living threads go by their age, over the threads' log and in two processes."""

from __future__ import annotations

import time

import pytest

from hosting.core.agent.held_run import read_run
from hosting.core.retention import DAY_SECONDS, EVENTS_BETWEEN_TRIMS, Retention
from hosting.core.thread.commands import TrimThread
from hosting.core.thread.run import Run
from hosting.names import Address
from state.codec import read
from state.extension import LogMark, host_of
from tests.support.process import ADDRESS, AGENT, Process, call
from tests.support.state_documents import history_messages

Processes = tuple[Process, Process]
DAYS = 30


def later(days: float) -> float:
    return time.time() + days * DAY_SECONDS


def retention(process: Process, days: float) -> Retention:
    return Retention(process.log_at(lambda: later(days)), DAYS)


async def stored(process: Process, message: str = "hi") -> Run:
    run = await process.start(call(message, key=message))
    ended = await process.runs.wait(run, process.engine, 5.0)
    await process.deliver(run.run_id)
    return ended


def mark(process: Process) -> LogMark:
    found = host_of(read(process.engine.documents["t1"])).log_mark
    assert found is not None
    return found


@pytest.mark.behaviour("service.retention")
async def test_what_is_too_old_and_stored_goes_and_the_conversation_stays(processes: Processes) -> None:
    one, other = processes
    run = await stored(one, "old")

    await retention(one, DAYS + 1).trim(ADDRESS, mark(one))
    view = await other.threads.view(Address.of(AGENT, "t1"), other.engine)

    assert await one.kinds() == ["trimmed"]
    assert await read_run(other.log, ADDRESS, run.run_id) is None
    assert [message.text for message in history_messages(view.conversation)] == ["old", "echo: old"]
    assert view.runs == ()


@pytest.mark.behaviour("thread.metadata")
async def test_metadata_outlives_its_event(processes: Processes) -> None:
    one, other = processes
    for metadata in ({"for": "an old test"}, {"for": "a test"}):
        await one.threads.describe(ADDRESS, metadata, one.engine)
    for number in (1, 2):
        await stored(one, f"old {number}")
        await retention(one, number * (DAYS + 1)).trim(ADDRESS, mark(one))
        head = await other.log.head(ADDRESS)
        assert await one.kinds() == ["trimmed"]
        assert head.metadata == {"for": "a test"}


@pytest.mark.behaviour("service.retention")
async def test_all_that_is_too_old_goes_at_one_look(process: Process) -> None:
    """Also runs that began in one piece and ended in another; a second look finds nothing and removes nothing."""
    process.agent.gate.clear()
    run = await process.start(call())
    for number in range(3 * EVENTS_BETWEEN_TRIMS):
        await process.threads.describe(ADDRESS, {"number": str(number)}, process.engine)
    process.agent.gate.set()
    await process.runs.wait(run, process.engine, 5.0)
    await process.deliver(run.run_id)

    await retention(process, DAYS + 1).trim(ADDRESS, mark(process))
    kinds = await process.kinds()
    await retention(process, DAYS + 1).trim(ADDRESS, mark(process))

    assert kinds == await process.kinds() == ["trimmed"]
    assert process.store.calls["trim"] == 1


@pytest.mark.behaviour("service.retention")
async def test_what_the_given_document_lacks_stays_however_old(process: Process) -> None:
    """A document that is only about to be stored may never be."""
    await stored(process, "one")
    given = mark(process)
    await stored(process, "two")

    await retention(process, DAYS + 1).trim(ADDRESS, given)

    assert (await process.log.head(ADDRESS)).trimmed == given.since
    _, runs = await process.threads.runs(Address.of(AGENT, "t1"), 10, process.engine)
    assert runs[0].accepted.request.message == "two"


@pytest.mark.behaviour("service.retention")
async def test_a_run_goes_only_when_its_end_is_too_old(process: Process) -> None:
    """Its status and its key are kept for so long behind it."""
    process.agent.gate.clear()
    run = await process.start(call(key="k"))
    began = (await process.log.events(ADDRESS, 0))[0][1].at
    process.agent.gate.set()
    ended = await process.runs.wait(run, process.engine, 5.0)
    await process.deliver(run.run_id)
    assert ended.end is not None
    between = (began + ended.end.at) / 2 + DAYS * DAY_SECONDS

    await Retention(process.log_at(lambda: between), DAYS).trim(ADDRESS, mark(process))

    assert (await process.runs.find(Address.of(AGENT, "t1"), run.run_id, process.engine)).run_id == run.run_id
    assert (await process.log.head(ADDRESS)).trimmed == 0


@pytest.mark.behaviour("service.retention")
async def test_a_process_that_dies_before_the_store_removed_anything_leaves_it_to_the_next_look(
    processes: Processes,
) -> None:
    one, other = processes
    run = await stored(one)
    await one.log.execute(ADDRESS, TrimThread(time.time(), mark(one).since))
    found = await read_run(other.log, ADDRESS, run.run_id)

    await retention(other, 0).trim(ADDRESS, mark(one))

    assert found is None
    assert await other.kinds() == ["trimmed"]


@pytest.mark.behaviour("service.retention")
async def test_large_events_go_from_the_attachments_too(process: Process) -> None:
    await stored(process, "x" * 100_000)
    before = sorted(await process.attachments.names(process.place(0)))

    await retention(process, DAYS + 1).trim(ADDRESS, mark(process))

    assert len(before) == 2
    assert sorted(await process.attachments.names(process.place(0))) == []
