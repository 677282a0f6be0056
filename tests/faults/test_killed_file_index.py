"""Processes that index files into one folder, killed by SIGKILL again and again, beside another that goes on."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosting.testing.chunk_indexes import SPACE, everything, first, indexed
from tests.support.indexed_files import sqlite_index
from tests.support.indexing_process import chunks_in, stays
from tests.support.warm_python import Process, start_python

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
KILLS = [6, pytest.param(60, marks=pytest.mark.explore)]
NO_LIMIT = 10**9


@contextlib.contextmanager
def indexing(folder: Path, mark: str, first_number: int, last_number: int) -> Iterator[Process]:
    """Run a process that adds the files of these numbers; it is not left behind."""
    process = start_python("tests.support.indexing_process", str(folder), mark, str(first_number), str(last_number))
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def until_killed(folder: Path, first_number: int, enough: int) -> int:
    """Let a process add files until so many are told as done, kill it in the next one, and return the last told."""
    with indexing(folder, "k", first_number, NO_LIMIT) as process:
        assert process.stdout is not None
        last = first_number - 1
        while last < enough:
            last = int(await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), GUARD_SECONDS))
        process.kill()
        rest, _ = await asyncio.to_thread(process.communicate)
    whole_lines = rest.split("\n")[:-1]
    return int(whole_lines[-1]) if whole_lines else last


def chunks_through(mark: str, last: int) -> list[tuple[str, int]]:
    """Return what is found of the files up to that number."""
    numbers = filter(stays, range(1, last + 1))
    return [(f"{mark}{number}", chunk) for number in numbers for chunk in range(chunks_in(number))]


def stored_segments(folder: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(folder / "objects.sqlite")) as connection:
        return {name.partition("-")[0] for (name,) in connection.execute("SELECT name FROM object")}


@pytest.mark.behaviour("file-index.once")
@pytest.mark.parametrize("kills", KILLS)
async def test_killed_processes_lose_no_file_double_none_and_leave_nothing_of_removed_ones(
    tmp_path: Path, kills: int
) -> None:
    """Each file that was told as added is there whole, and the file of the kill whole or not at all."""
    told, beside = 0, 8 * kills
    with indexing(tmp_path, "w", 1, beside) as other:
        for kill in range(kills):
            told = await until_killed(tmp_path, told + 1, told + 2 + kill % 5)
            kept = [chunk for chunk in await everything(sqlite_index(tmp_path)) if chunk[0][0] == "k"]
            whole = (chunks_through("k", told), chunks_through("k", told + 1))
            of_the_kill = [(f"k{told + 1}", chunk) for chunk in range(chunks_in(told + 1))]
            assert kept in [sorted(chunks) for chunks in (*whole, [*whole[0], *of_the_kill])]
        output, _ = await asyncio.wait_for(asyncio.to_thread(other.communicate), GUARD_SECONDS)

    assert output.split() == [str(number) for number in range(1, beside + 1)]
    index = sqlite_index(tmp_path)
    await index.remove(SPACE, f"k{told + 1}")
    assert await everything(index) == sorted([*chunks_through("k", told), *chunks_through("w", beside)])
    assert (await first(index, "w1", 1)).chunk == indexed("w1", 1).chunk
    catalog = await index._cells.read(index._cell(SPACE))
    assert catalog.coming == ()
    assert stored_segments(tmp_path) == catalog.names()
    await index.close()
