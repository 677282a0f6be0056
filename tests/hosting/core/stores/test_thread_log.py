"""The log of every thread: asked by commands, whoever else asks at this moment and whatever the store does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from hosting.core.cells import Cell, CellKind, Cells, Counted
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.thread.commands import AttachToRun, Change, Command
from hosting.core.thread.head import Head
from hosting.core.thread.rows import KeyRow, RunRow
from hosting.core.thread_log import MOST_READS, ThreadLog
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.names import Address, StoreKey
from hosting.ports import Clocks
from tests.support.cluster.stores import ArmedObjects
from tests.support.thread_stores import ArmedStore
from tests.support.threads import NOW, accept, answered, end

ADDRESS = Address.of("Helper", "t1")
PLACE = StoreKey("hub.log", f"{ADDRESS.key}/0")

FAR = 1e12
"""Seconds by the clock that counts sleep, after years of it."""


class Desk:
    """Two processes' logs over one store; the first one's is armed."""

    def __init__(self, **members: float | int) -> None:
        shared = MemoryThreadStore("hub")
        self.store = ArmedStore(shared)
        self.attachments = ArmedObjects(MemoryObjects(), AttachmentsUnavailableError)
        self.now = 0.0
        clocks = Clocks(awake=lambda: self.now)
        self.log = ThreadLog(self.store, self.attachments, "hub", clocks=clocks, **members)  # type: ignore[arg-type]
        self.other = ThreadLog(shared, self.attachments, "hub")

    async def kinds(self) -> list[str]:
        """Return the kinds of the thread's events, in order."""
        return [event.kind for _, event in await self.other.events(ADDRESS, 0)]


@pytest.fixture
def desk() -> Desk:
    """A log whose store does as it is told."""
    return Desk()


@pytest.mark.behaviour("log.ask")
async def test_a_command_is_decided_again_behind_another_processs_append(desk: Desk) -> None:
    """The one that came first stands, and so does what is decided behind it."""
    await desk.log.execute(ADDRESS, accept("r1"), is_new=True)
    desk.store.before_append = lambda: desk.other.execute(ADDRESS, accept("r2"))

    decided = await desk.log.execute(ADDRESS, accept("r3"))

    assert [run.id for run in decided.head.runs] == ["r1", "r2", "r3"]
    assert decided.head == await desk.other.head(ADDRESS)


@pytest.mark.behaviour("log.ask")
async def test_what_is_not_an_append_is_decided_on_a_head_that_was_read(desk: Desk) -> None:
    """A remembered head is no authority: another process may have begun what is asked about."""
    await desk.log.execute(ADDRESS, accept("r1"), is_new=True)
    await desk.other.execute(ADDRESS, accept("r2"))

    decided = await desk.log.execute(ADDRESS, AttachToRun(NOW, "r2"))

    assert isinstance(decided.outcome, Change)
    assert (await desk.kinds())[-1] == "attached"


@pytest.mark.behaviour("log.ask")
async def test_a_key_that_another_request_used_first_is_found(desk: Desk) -> None:
    """Its row is new for each of the two, and the store takes one; the other reads it and attaches."""
    await desk.other.execute(ADDRESS, accept("r1", key="k"))

    async def refresh(known: Head) -> Command:
        row = await desk.log.row(ADDRESS, KeyRow, "k", known)
        return accept("r2", key="k", key_row=row)

    decided = await desk.log.execute(ADDRESS, accept("r2", key="k"), refresh)

    assert isinstance(decided.outcome, Change)
    assert (decided.outcome.run_id, await desk.kinds()) == ("r1", ["accepted", "attached"])


@pytest.mark.behaviour("log.ask")
async def test_requests_of_one_process_wait_for_each_other_and_never_conflict(desk: Desk) -> None:
    await asyncio.gather(*(desk.log.execute(ADDRESS, accept(f"r{number}")) for number in range(10)))

    assert desk.store.calls == {"head": 1, "append": 10}
    assert len((await desk.other.head(ADDRESS)).runs) == 10


@pytest.mark.behaviour("log.unknown")
@pytest.mark.parametrize("failure", ["lost", "answer lost"])
async def test_an_append_whose_outcome_is_unknown_is_given_again_and_counts_once(desk: Desk, failure: str) -> None:
    desk.store.fails = [failure, failure]  # type: ignore[list-item]

    await desk.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)

    assert desk.store.calls["append"] == 3
    assert await desk.kinds() == ["accepted", "claimed"]


@pytest.mark.behaviour("log.unknown")
async def test_an_append_whose_time_was_slept_through_is_given_again_once() -> None:
    """It was carried out: whoever is told to try again would have it done twice."""
    desk = Desk(patience_seconds=0.0)
    desk.store.fails = ["answer lost"]

    async def sleep() -> None:
        desk.now += 70.0

    desk.store.before_append = sleep

    decided = await desk.log.execute(ADDRESS, accept("r1"), is_new=True)

    assert [run.id for run in decided.head.runs] == ["r1"]
    assert await desk.kinds() == ["accepted"]


@pytest.mark.behaviour("log.reads-again")
async def test_a_read_that_fails_is_tried_again(desk: Desk) -> None:
    """One call that an account refuses is no outage: no operation is given back for it, and no run is let go."""
    desk.store.failing_reads = MOST_READS - 1

    await desk.log.head(ADDRESS)

    assert desk.store.calls == {"head": MOST_READS}


@pytest.mark.behaviour("log.reads-again")
@pytest.mark.behaviour("http.retry-after")
async def test_a_store_that_asks_to_be_left_alone_for_longer_than_its_patience_has_that_told() -> None:
    """To whoever reads or appends, with the time that it said."""
    desk = Desk(patience_seconds=0.0)
    desk.store.failing_reads = 1
    with pytest.raises(LogUnavailableError):
        await desk.log.head(ADDRESS)
    assert desk.store.calls == {"head": 1}

    desk.store.fails = ["throttled"]
    with pytest.raises(LogUnavailableError) as refused:
        await desk.log.execute(ADDRESS, accept("r1"))
    assert refused.value.retry_after_seconds == 0.01


@pytest.mark.behaviour("log.unknown")
async def test_a_store_that_stays_away_is_reported_and_nothing_is_believed_after_it() -> None:
    """The next command reads the head: whether the last one was carried out is unknown."""
    desk = Desk(patience_seconds=0.1)
    await desk.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
    desk.store.is_away = True
    with pytest.raises(LogUnavailableError):
        await desk.log.execute(ADDRESS, end("r1"))
    desk.store.is_away = False
    desk.store.calls.clear()

    await desk.log.execute(ADDRESS, end("r1"))

    assert desk.store.calls == {"head": 1, "append": 1}


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_an_append_refers_to_is_put_again_where_the_machine_slept_since(desk: Desk) -> None:
    """The sweep took it for left over meanwhile; the append that goes on refers to something all the same."""

    async def sleep_and_sweep() -> None:
        desk.now = FAR
        await desk.attachments.erase(PLACE)

    await desk.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
    desk.store.before_append, desk.store.fails = sleep_and_sweep, ["lost"]
    await desk.log.execute(ADDRESS, answered("r1", "word " * 20_000))

    assert await desk.kinds() == ["accepted", "claimed", "completed"]
    assert len(sorted(await desk.attachments.names(PLACE))) == 1


@pytest.mark.behaviour("log.large")
async def test_a_store_of_large_events_that_is_away_or_lost_them_is_a_log_that_is_away() -> None:
    """For an append and for a reader; nothing is appended that could not be read, and no event is an empty one."""
    desk, large = Desk(patience_seconds=0.1), answered("r1", "word " * 20_000)
    await desk.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
    desk.attachments.is_away = True
    with pytest.raises(LogUnavailableError):
        await desk.log.execute(ADDRESS, large)
    desk.attachments.is_away = False
    await desk.log.execute(ADDRESS, large)
    desk.attachments.is_away = True
    with pytest.raises(LogUnavailableError):
        await desk.log.events(ADDRESS, 0)
    desk.attachments.is_away = False
    await desk.attachments.erase(PLACE)

    with pytest.raises(LogUnavailableError):
        await desk.log.events(ADDRESS, 0)


@pytest.mark.behaviour("log.ask")
async def test_what_a_process_remembers_is_bounded_in_bytes() -> None:
    """The threads that were asked longest ago are read again."""
    desk = Desk(cached_bytes=4 * 6000)
    addresses = [Address.of("Helper", f"t{number}") for number in range(10)]
    for address in addresses:
        await desk.log.execute(address, accept("r1"), is_new=True)
    desk.store.calls.clear()

    for address in reversed(addresses):
        await desk.log.execute(address, accept("r2"))

    assert 0 < desk.store.calls["head"] < 10


@pytest.mark.behaviour("log.ask")
async def test_events_are_those_up_to_the_head_that_is_given(desk: Desk) -> None:
    """Whatever this process has appended since that was read."""
    await desk.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
    read = await desk.log.head(ADDRESS)
    await desk.log.execute(ADDRESS, end("r1"))

    events = await desk.log.events(ADDRESS, 0, read)

    assert [event.kind for _, event in events] == ["accepted", "claimed"]


@pytest.mark.behaviour("log.ask")
async def test_a_command_that_overlooks_a_row_is_refused_and_not_tried_for_ever(desk: Desk) -> None:
    """The row stays there, and so does the head: no other outcome would ever come."""
    await desk.log.execute(ADDRESS, accept("r1"), is_new=True)
    desk.store.calls.clear()

    with pytest.raises(ValueError, match="AcceptRun was decided without an existing row"):
        await asyncio.wait_for(desk.log.execute(ADDRESS, accept("r1")), 5)

    assert desk.store.calls == {"append": 1}


@pytest.mark.behaviour("log.unknown")
async def test_a_run_whose_opening_was_not_told_of_is_opened_once_by_who_asks_again() -> None:
    desk = Desk(patience_seconds=0.0)
    desk.store.fails = ["answer lost"]
    with pytest.raises(LogUnavailableError):
        await desk.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)

    async def refresh(known: Head) -> Command:
        return accept("r1", claimed=True, known=await desk.log.row(ADDRESS, RunRow, "r1", known))

    decided = await desk.log.execute(ADDRESS, accept("r1", claimed=True), refresh)

    assert [run.id for run in decided.head.runs] == ["r1"]
    assert await desk.kinds() == ["accepted", "claimed", "attached"]


@pytest.mark.behaviour("log.ask")
@pytest.mark.parametrize(("call", "opened"), [("head", ["r1", "r3"]), ("append", ["r1", "r2", "r3"])])
async def test_who_leaves_in_the_middle_of_a_command_keeps_nobody_from_the_thread(
    desk: Desk, call: str, opened: list[str]
) -> None:
    await desk.other.execute(ADDRESS, accept("r1"), is_new=True)

    asking = asyncio.ensure_future(desk.log.execute(ADDRESS, accept("r2")))
    async with desk.store.holding(call):
        asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    decided = await desk.log.execute(ADDRESS, accept("r3"))
    assert [run.id for run in decided.head.runs] == opened


NOTE: CellKind[str | None] = CellKind(
    "note", "", lambda payload: payload and payload.decode(), lambda note: note and note.encode()
)
A, B = (Cell(NOTE, "Clerk", "ada", key) for key in "ab")


class Tally(Counted):
    """A value that counts."""

    count: int = 0

    def more(self) -> Tally:
        return self.model_copy(update={"count": self.count + 1})


TALLIES: Mapping[bool, Cell[Tally]] = {
    remembered: Cell(CellKind.of_model("tally", "all", Tally, remembered=remembered), "Clerk", "ada")
    for remembered in (True, False)
}


def cells_of(store: ArmedStore) -> Cells:
    """Return the cells of one process, which waits a moment for a store that is away."""
    return Cells(store, ThreadLog(store, MemoryObjects(), "hub", patience_seconds=1.0))


@pytest.fixture
def store() -> ArmedStore:
    return ArmedStore(MemoryThreadStore(SharedMemory()))


@pytest.mark.behaviour("log.cells")
async def test_each_of_many_changes_at_once_stands(store: ArmedStore) -> None:
    """Twenty in each of four processes, whoever comes first."""
    processes, tally = [cells_of(store) for _ in range(4)], TALLIES[True]

    await asyncio.gather(*(cells.count(tally, Tally.more) for cells in processes for _ in range(20)))

    assert (await processes[0].read(tally)).count == 80


@pytest.mark.behaviour("log.cells")
@pytest.mark.parametrize("remembered", [True, False])
async def test_a_change_whose_answer_was_lost_is_made_once(store: ArmedStore, remembered: bool) -> None:
    """Also where another process came after it, so that the store takes it for one that lost."""
    one, other, tally = cells_of(store), cells_of(store), TALLIES[remembered]
    await one.count(tally, Tally.more)

    async def others_turn_is_the_try_after_this() -> None:
        store.before_append = lambda: other.count(tally, Tally.more)

    store.fails, store.before_append = ["answer lost"], others_turn_is_the_try_after_this
    value = await one.count(tally, Tally.more)

    assert (value.count, len(value.counted)) == (3, 3)
    assert await other.read(tally) == value


@pytest.mark.behaviour("log.cells")
async def test_the_cells_beside_one_are_those_of_its_owner(store: ArmedStore) -> None:
    one = cells_of(store)
    names = [f"{number:03}" for number in range(401)]
    for name in names:
        await one.change(Cell(NOTE, "Clerk", "ada", name), lambda _, name=name: name, is_new=True)  # type: ignore[misc]
    for other in (Cell(NOTE, "Clerk", "bob", "b"), Cell(NOTE, "Clerk2", "ada", "c")):
        await one.change(other, lambda _: "other's")

    assert await one.siblings(A) == {name: name.encode() for name in names}
