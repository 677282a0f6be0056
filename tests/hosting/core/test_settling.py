"""What a deletion leaves: its receipt, the instances that it names, and threads whose time is up."""

from __future__ import annotations

import hashlib

import pytest
from msgspec.structs import replace

from hosting.core.deletion import Instance, Receipt
from hosting.core.thread.run_request import RunRequest
from hosting.names import Address
from state.codec import read, write
from state.conversation import without_oldest
from tests.support.process import ADDRESS, AGENT, Process, call

Processes = tuple[Process, Process]
OWN = "@dafx-echo@t1"


async def carried(process: Process, message: str, orchestration_id: str | None = None) -> None:
    requested = replace(call(message), request=RunRequest(message=message, orchestration_id=orchestration_id))
    run = await process.start(requested)
    await process.runs.wait(run, process.engine, 5.0)
    await process.deliver(run.run_id)


async def deleted(process: Process) -> Receipt:
    await process.threads.delete(Address.of(AGENT, "t1"), process.engine, 0.0)
    await process.deliver_delete()
    return await process.threads.receipt(Address.of(AGENT, "t1"))


async def outcomes(process: Process) -> list[str]:
    return [instance.outcome for instance in (await process.threads.receipt(Address.of(AGENT, "t1"))).instances]


@pytest.mark.behaviour("erasure.receipt")
async def test_a_receipt_says_what_was_deleted_and_names_each_orchestration_once(process: Process) -> None:
    await carried(process, "one")
    await carried(process, "two", "o1")
    await carried(process, "three", "o2")
    await carried(process, "four", "o1")
    stored = process.engine.documents["t1"].encode()

    receipt = await deleted(process)

    assert receipt == Receipt(
        deleted_at=receipt.deleted_at,
        reason="asked",
        document_bytes=len(stored),
        sha256=hashlib.sha256(stored).hexdigest(),
        runs=4,
        archived_entries=0,
        instances=(Instance(id="o1"), Instance(id="o2"), Instance(id=OWN)),
    )


@pytest.mark.behaviour("erasure.receipt")
@pytest.mark.parametrize("document", ["no JSON", None], ids=["unreadable", "a gap in the archive"])
async def test_what_cannot_be_read_is_no_reason_to_keep_the_thread(process: Process, document: str | None) -> None:
    await carried(process, "one", "o1")
    archived = write(without_oldest(read(process.engine.documents["t1"]), 2))
    process.engine.documents["t1"] = document or archived

    receipt = await deleted(process)

    assert receipt.instances == (Instance(id="o1"), Instance(id=OWN))
    assert process.engine.documents == {}


@pytest.mark.behaviour("erasure.instances")
async def test_an_engine_that_is_away_leaves_instances_pending(process: Process) -> None:
    """The deletion itself is done; whoever deletes again finishes it."""
    await carried(process, "one", "o1")
    await deleted(process)
    process.engine.is_away = True
    is_over_now = await process.purging.purge(ADDRESS, process.engine)
    pending = await outcomes(process)
    process.engine.is_away = False

    await process.threads.delete(Address.of(AGENT, "t1"), process.engine, 0.0)

    assert (is_over_now, pending) == (False, ["pending", "pending"])
    assert await outcomes(process) == ["deleted", "deleted"]


@pytest.mark.behaviour("erasure.instances")
async def test_the_entity_of_a_thread_that_begins_again_meanwhile_is_not_purged(processes: Processes) -> None:
    one, other = processes
    await carried(one, "one", "o1")
    await deleted(one)

    async def begin_again() -> None:
        await other.start(call("new", waits=False))

    one.engine.before_purge = begin_again
    await one.purging.purge(ADDRESS, one.engine)

    assert one.engine.purged == ["o1"]
    assert (await one.threads.receipt(Address.of(AGENT, "t1"))).instances[-1] == Instance(id=OWN)


@pytest.mark.behaviour("erasure.instances")
async def test_a_document_that_is_still_there_under_the_tombstone_is_asked_to_go(process: Process) -> None:
    """Its entity is needed for that, and is not purged."""
    await carried(process, "one")
    left = process.engine.documents["t1"]
    await deleted(process)
    process.engine.documents["t1"] = left
    process.engine.signals.clear()

    await process.threads.delete(Address.of(AGENT, "t1"), process.engine, 0.0)

    assert process.engine.signals == [("delete", {"logged": True})]
    assert await outcomes(process) == ["pending"]


@pytest.mark.behaviour("erasure.message-wins")
async def test_a_message_that_comes_while_an_expired_thread_is_looked_at_wins(processes: Processes) -> None:
    """Whether its run is still open or was answered at once."""
    one, other = processes
    await carried(one, "one")

    async def come_first() -> None:
        run = await other.start(call("two"))
        await other.runs.wait(run, other.engine, 5.0)

    one.store.before_append = come_first

    assert not await one.deletion.expire(ADDRESS, one.engine.documents["t1"])
    assert (await one.log.head(ADDRESS)).state == "open"
