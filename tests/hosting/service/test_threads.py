"""Threads as callers see them, over the threads' log and in two processes: read, reset, deleted."""

from __future__ import annotations

import asyncio

import pytest

from hosting.errors import LogUnavailableError, ThreadDeletedError, ThreadDeletingError, UnknownThreadError
from hosting.ports import Volume
from hosting.service.runs import Run
from hosting.stores.thread_log import epoch_place
from state.convert import history_messages
from tests.hosting.service.process import ADDRESS, AGENT, Process, call

Processes = tuple[Process, Process]


async def answered(process: Process, message: str = "hi") -> Run:
    """Start a run and wait for its answer."""
    run = await process.runs.start(AGENT, call(message), process.engine)
    return await process.runs.wait(run, process.engine, 5.0)


async def said(process: Process) -> list[str]:
    """Return the texts that a model would see of the thread."""
    view = await process.threads.view(AGENT, "t1", process.engine)
    return [message.text for message in history_messages(view.conversation)]


@pytest.mark.behaviour("service.threads")
async def test_an_answer_is_read_as_soon_as_it_was_given(processes: Processes) -> None:
    """By any process, before the entity has come by."""
    one, other = processes
    await answered(one, "one")
    run = await answered(other, "two")

    view = await one.threads.view(AGENT, "t1", one.engine)

    assert await said(other) == ["one", "echo: one", "two", "echo: two"]
    assert [record.accepted.run_id for record in view.runs][-1] == run.run_id
    assert (view.head.title, view.head.position) == ("one", 6)


@pytest.mark.behaviour("service.threads")
async def test_a_thread_that_nobody_has_spoken_on_is_unknown(process: Process) -> None:
    """There is neither a run nor a document."""
    with pytest.raises(UnknownThreadError):
        await process.threads.view(AGENT, "t1", process.engine)


@pytest.mark.behaviour("service.reset")
async def test_a_reset_holds_in_every_process_once_it_is_answered(processes: Processes) -> None:
    """Whether the entity has carried it out or not."""
    one, other = processes
    await answered(one, "before")
    await one.threads.reset(AGENT, "t1", one.engine)

    run = await answered(other, "after")

    assert other.agent.turns[-1] == ["after"]
    assert await said(one) == ["after", "echo: after"]
    assert one.engine.signals[1] == ("reset", {"position": 4})
    assert run.record.terminal is not None


@pytest.mark.behaviour("service.delete")
async def test_a_deleted_thread_leaves_a_tombstone_and_its_receipt(processes: Processes) -> None:
    """Nothing of its words, in whatever store."""
    one, other = processes
    run = await answered(one, "secret")
    await one.deliver(run.run_id)
    deleting = asyncio.ensure_future(one.threads.delete(AGENT, "t1", one.engine, 5.0))
    await asyncio.sleep(0.02)
    await other.deliver_delete()

    assert await deleting
    receipt = await other.threads.receipt(AGENT, "t1")
    assert (receipt["runs"], receipt["reason"]) == (1, "asked")
    assert await one.kinds() == ["deleted"]
    assert one.engine.documents == {}
    assert one.engine.signals[-1] == ("delete", {"logged": True})


@pytest.mark.behaviour("service.delete")
async def test_a_deletion_ends_open_runs_and_takes_no_new_ones(processes: Processes) -> None:
    """Their keys and ids are gone from then on."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.runs.start(AGENT, call(), one.engine)
    is_done = await other.threads.delete(AGENT, "t1", other.engine, 0.0)

    with pytest.raises(ThreadDeletingError):
        await other.runs.start(AGENT, call("new"), other.engine)
    with pytest.raises(ThreadDeletedError):
        await one.runs.wait(run, one.engine, 5.0)
    one.agent.gate.set()
    await other.deliver_delete()
    with pytest.raises(ThreadDeletedError):
        await other.runs.find(AGENT, "t1", run.run_id, other.engine)
    assert not is_done


@pytest.mark.behaviour("service.delete")
async def test_a_thread_begins_anew_behind_its_tombstone(processes: Processes) -> None:
    """A deletion that is delivered late takes nothing of it."""
    one, other = processes
    await answered(one, "old")
    await one.threads.delete(AGENT, "t1", one.engine, 0.0)
    await one.deliver_delete()
    run = await answered(other, "new")
    await other.deliver(run.run_id)

    await one.deliver_delete()

    assert other.agent.turns[-1] == ["new"]
    assert await said(one) == ["new", "echo: new"]
    assert "t1" in one.engine.documents


@pytest.mark.behaviour("service.delete")
async def test_a_deletion_that_broke_off_is_finished_by_its_next_delivery(process: Process) -> None:
    """What is archived lies under its epoch, so nothing else is touched."""
    await answered(process, "old")
    old, new = (Volume(epoch_place("hub", ADDRESS, epoch), 0) for epoch in (0, 2))
    await process.archive.put(old, 1, ['"old"'])
    await process.archive.put(new, 1, ['"new"'])
    await process.threads.delete(AGENT, "t1", process.engine, 0.0)
    process.store.fails_erasing = True
    with pytest.raises(LogUnavailableError):
        await process.deliver_delete()
    process.store.fails_erasing = False

    await process.deliver_delete()

    assert await process.kinds() == ["deleted"]
    assert await process.archive.read(new, 1, 1) == ['"new"']
    assert await process.archive.erase(old.place) == 0


@pytest.mark.behaviour("service.delete")
async def test_a_thread_that_is_not_there_is_deleted_already(process: Process) -> None:
    """And so is one that was deleted before."""
    first = await process.threads.delete(AGENT, "t1", process.engine, 0.0)
    await answered(process)
    await process.threads.delete(AGENT, "t1", process.engine, 0.0)
    await process.deliver_delete()

    assert first
    assert await process.threads.delete(AGENT, "t1", process.engine, 0.0)
    with pytest.raises(UnknownThreadError):
        await process.threads.view(AGENT, "t1", process.engine)
