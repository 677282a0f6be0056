"""Threads as callers see them, over the threads' log and in two processes: read, reset, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from hosting.core.stores.archive import Volume
from hosting.core.thread.commands import DeleteThread
from hosting.core.thread.run import Run
from hosting.core.thread_log import epoch_store_key, store_key
from hosting.errors import LogUnavailableError, ThreadDeletedError, ThreadDeletingError, UnknownThreadError
from hosting.names import Address
from state.codec import read, write
from state.conversation import with_log_mark
from state.extension import LogMark
from tests.support.process import ADDRESS, AGENT, Process, call
from tests.support.state_documents import history_messages

Processes = tuple[Process, Process]


async def answered(process: Process, message: str = "hi") -> Run:
    run = await process.start(call(message))
    return await process.runs.wait(run, process.engine, 5.0)


async def output(process: Process) -> list[str]:
    view = await process.threads.view(Address.of(AGENT, "t1"), process.engine)
    return [message.text for message in history_messages(view.conversation)]


async def deletions_signalled(meeting: Callable[[], Awaitable[object]], process: Process) -> int:
    process.engine.signals.clear()
    with suppress(ThreadDeletedError, ThreadDeletingError):
        await meeting()
    return [operation for operation, _ in process.engine.signals].count("delete")


@pytest.mark.behaviour("service.threads")
async def test_a_thread_that_nobody_has_spoken_on_is_unknown(process: Process) -> None:
    with pytest.raises(UnknownThreadError):
        await process.threads.view(Address.of(AGENT, "t1"), process.engine)


@pytest.mark.behaviour("service.delete")
async def test_a_deleted_thread_leaves_a_tombstone_and_its_receipt(processes: Processes) -> None:
    one, other = processes
    run = await answered(one, "secret")
    await one.deliver(run.run_id)
    deleting = asyncio.ensure_future(one.threads.delete(Address.of(AGENT, "t1"), one.engine, 5.0))
    await asyncio.sleep(0.02)
    await other.deliver_delete()

    assert await deleting
    receipt = await other.threads.receipt(Address.of(AGENT, "t1"))
    assert (receipt.runs, receipt.reason) == (1, "asked")
    assert await one.kinds() == ["deleted", "settled", "settled"]
    assert one.engine.documents == {}
    assert one.engine.signals[-1] == ("delete", {"logged": True})


@pytest.mark.behaviour("service.delete")
async def test_whoever_meets_a_deletion_under_way_signals_for_it(processes: Processes) -> None:
    """The process that began it may have died before its own signal: reading, asking and cancelling all move it on."""
    one, other = processes
    run = await answered(one)
    key_is_known = call("keyed", key="k1")
    await other.runs.wait(await one.start(key_is_known), other.engine, 5.0)
    one.agent.gate.clear()
    running = await one.start(call("open"))
    await one.log.execute(ADDRESS, DeleteThread(1.0))
    meetings: dict[str, Callable[[], Awaitable[object]]] = {
        "view": lambda: other.threads.view(Address.of(AGENT, "t1"), other.engine),
        "runs": lambda: other.threads.runs(Address.of(AGENT, "t1"), 10, other.engine),
        "reset": lambda: other.threads.reset(Address.of(AGENT, "t1"), other.engine),
        "find": lambda: other.runs.find(Address.of(AGENT, "t1"), running.run_id, other.engine),
        "find ended": lambda: other.runs.find(Address.of(AGENT, "t1"), run.run_id, other.engine),
        "cancel": lambda: other.runs.cancel(Address.of(AGENT, "t1"), running.run_id, other.engine),
        "key": lambda: other.start(key_is_known),
        "open": lambda: other.start(call("new")),
    }

    signalled = {name: await deletions_signalled(meeting, other) for name, meeting in meetings.items()}

    assert signalled == dict.fromkeys(meetings, 1)
    one.agent.gate.set()


@pytest.mark.behaviour("service.delete")
async def test_a_deletion_that_broke_off_is_finished_while_the_thread_lives_again(processes: Processes) -> None:
    """Callers had their 204 at the tombstone and went on; what is left of the life before goes all the same."""
    one, other = processes
    await one.deliver((await answered(one, "old")).run_id)
    await one.archive.put(old := Volume(epoch_store_key("hub", ADDRESS, 0), 0), 1, ['"old"'])
    await one.threads.delete(Address.of(AGENT, "t1"), one.engine, 0.0)
    one.store.fails_erasing = True
    with pytest.raises(LogUnavailableError):
        await one.deliver_delete()
    one.store.fails_erasing = False
    await answered(other, "new")

    await one.deliver_delete()

    assert await one.kinds() == ["deleted", "accepted", "claimed", "completed"]
    assert (one.engine.documents, await one.archive.erase(old.thread)) == ({}, 0)
    assert await output(one) == ["new", "echo: new"]


@pytest.mark.behaviour("service.delete")
async def test_a_deletion_takes_what_a_document_ahead_of_its_log_refers_to(process: Process) -> None:
    """Where the log was restored without it: its archive and attachments lie under the epoch that it names."""
    later = LogMark(epoch=4, position=90, since=90)
    process.engine.documents["t1"] = write(with_log_mark(read(None), later))
    await process.archive.put(Volume(process.place(4), 0), 1, ['"old"'])
    await process.attachments.put(process.place(4), {"0" * 64: b"old"})
    await process.threads.delete(Address.of(AGENT, "t1"), process.engine, 0.0)

    await process.deliver_delete()

    assert process.engine.documents == {}
    assert await process.archive.epochs(store_key("hub", ADDRESS)) == []
    assert await process.attachments.epochs(store_key("hub", ADDRESS)) == []


@pytest.mark.behaviour("service.reset")
async def test_a_reset_holds_in_every_process_once_it_is_answered(processes: Processes) -> None:
    """Whether the entity has carried it out or not."""
    one, other = processes
    await answered(one, "before")
    await one.threads.reset(Address.of(AGENT, "t1"), one.engine)

    run = await answered(other, "after")

    assert other.agent.turns[-1] == ["after"]
    assert await output(one) == ["after", "echo: after"]
    assert one.engine.signals[1] == ("reset", {"position": 4})
    assert run.end is not None
