"""Cells over a store: two processes that change one at once, and answers that are lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from hosting.core.cells import Cell, CellKind, Cells, Counted
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.thread_log import ThreadLog
from tests.support.thread_stores import ArmedStore

pytestmark = pytest.mark.behaviour("log.cells")

NOTE: CellKind[str | None] = CellKind(
    "note", "", lambda payload: payload and payload.decode(), lambda note: note and note.encode()
)
A, B = (Cell(NOTE, "Clerk", "ada", key) for key in "ab")


class Tally(Counted):
    """A value that counts."""

    count: int = 0

    def more(self) -> Tally:
        """Return it with one more."""
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
    """A store that fails as a test says."""
    return ArmedStore(MemoryThreadStore(SharedMemory()))


async def test_each_of_many_changes_at_once_stands(store: ArmedStore) -> None:
    """Twenty in each of four processes, whoever comes first."""
    processes, tally = [cells_of(store) for _ in range(4)], TALLIES[True]

    await asyncio.gather(*(cells.count(tally, Tally.more) for cells in processes for _ in range(20)))

    assert (await processes[0].read(tally)).count == 80


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


async def test_the_cells_beside_one_are_those_of_its_owner(store: ArmedStore) -> None:
    one = cells_of(store)
    names = [f"{number:03}" for number in range(401)]
    for name in names:
        await one.change(Cell(NOTE, "Clerk", "ada", name), lambda _, name=name: name, is_new=True)  # type: ignore[misc]
    for other in (Cell(NOTE, "Clerk", "bob", "b"), Cell(NOTE, "Clerk2", "ada", "c")):
        await one.change(other, lambda _: "other's")

    assert await one.siblings(A) == {name: name.encode() for name in names}
