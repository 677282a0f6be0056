"""The log of every thread, asked by several at once, and by those who are told nothing or leave in the middle."""

from __future__ import annotations

import asyncio

import pytest

from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread.commands import Change, Command
from hosting.core.thread.head import Head
from hosting.core.thread.rows import RunRow
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError
from hosting.names import Address
from tests.support.bench import ArmedAttachments
from tests.support.thread_stores import ArmedStore
from tests.support.threads import accept, answered

ADDRESS = Address.of("Helper", "t1")


def log_over(store: MemoryThreadStore | ArmedStore, **members: int) -> ThreadLog:
    """Return a log of its own over a store."""
    return ThreadLog(store, MemoryObjects(), "hub", **members)


@pytest.mark.behaviour("log.ask")
async def test_a_command_that_overlooks_a_row_is_refused_and_not_tried_for_ever() -> None:
    """The row stays there, and so does the head: no other outcome would ever come."""
    store = ArmedStore(MemoryThreadStore("hub"))
    log = log_over(store)
    await log.execute(ADDRESS, accept("r1"), is_new=True)
    store.calls.clear()

    with pytest.raises(ValueError, match="AcceptRun was decided without an existing row"):
        await asyncio.wait_for(log.execute(ADDRESS, accept("r1")), 5)

    assert store.calls == {"append": 1}


@pytest.mark.behaviour("log.unknown")
async def test_a_run_whose_opening_was_not_told_of_is_opened_once_by_who_asks_again() -> None:
    store = ArmedStore(MemoryThreadStore("hub"))
    log = ThreadLog(store, MemoryObjects(), "hub", patience_seconds=0.0)
    store.fails = ["answer lost"]
    with pytest.raises(LogUnavailableError):
        await log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)

    async def refresh(known: Head) -> Command:
        return accept("r1", claimed=True, known=await log.row(ADDRESS, RunRow, "r1", known))

    decided = await log.execute(ADDRESS, accept("r1", claimed=True), refresh)

    assert isinstance(decided.outcome, Change)
    assert [event.kind for event in decided.outcome.events] == ["attached"]
    assert [run.id for run in decided.head.runs] == ["r1"]


@pytest.mark.behaviour("log.ask")
@pytest.mark.parametrize(("call", "opened"), [("head", ["r1", "r3"]), ("append", ["r1", "r2", "r3"])])
async def test_who_leaves_in_the_middle_of_a_command_keeps_nobody_from_the_thread(call: str, opened: list[str]) -> None:
    store = ArmedStore(MemoryThreadStore("hub"))
    log = log_over(store)
    await log_over(store).execute(ADDRESS, accept("r1"), is_new=True)

    asking = asyncio.ensure_future(log.execute(ADDRESS, accept("r2")))
    async with store.holding(call):
        asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    decided = await log.execute(ADDRESS, accept("r3"))
    assert [run.id for run in decided.head.runs] == opened


@pytest.mark.behaviour("log.large")
async def test_a_store_of_large_events_that_is_away_is_a_log_that_is_away() -> None:
    """For an append and for a reader; nothing is appended that could not be read."""
    attachments = ArmedAttachments()
    log = ThreadLog(MemoryThreadStore("hub"), attachments, "hub", patience_seconds=0.1)
    await log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
    attachments.is_down = True
    with pytest.raises(LogUnavailableError):
        await log.execute(ADDRESS, answered("r1", "word " * 20_000))
    attachments.is_down = False
    await log.execute(ADDRESS, answered("r1", "word " * 20_000))
    attachments.is_down = True

    with pytest.raises(LogUnavailableError):
        await log.events(ADDRESS, 0)
