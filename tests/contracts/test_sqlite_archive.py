"""The archive's SQLite file: what it leaves on the disk, and what it says when it cannot be opened."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosting.core.stores.archive import Volume
from hosting.core.stores.sqlite_file import FileKind
from hosting.core.stores.sqlite_objects import ARCHIVE
from hosting.errors import ArchiveUnavailableError
from hosting.names import StoreKey
from tests.support.archives import sqlite_archive
from tests.support.canary import holds

VOLUME = Volume(StoreKey("joker", "thread"), 0)


@pytest.mark.behaviour("archive.erases")
@pytest.mark.parametrize("seed", range(5))
async def test_what_was_erased_is_in_no_file_of_the_archive(tmp_path: Path, seed: int) -> None:
    """One thread after another, among others with entries of any size, some put twice; a reader has the file open."""
    seeded = random.Random(seed)
    archive = sqlite_archive(tmp_path / "archive.sqlite")
    volumes = [Volume(StoreKey("joker", f"thread-{n}"), 0) for n in range(8)]
    for number in range(1, 301):
        volume = seeded.choice(volumes)
        text = f"canary of {volume.thread.name} " * seeded.choice([1, 4, 20, 60, 200, 2000])
        await archive.put(volume, seeded.randint(1, number), [json.dumps({"text": text})])

    with reading(tmp_path / "archive.sqlite"):
        for volume in seeded.sample(volumes, k=7):
            canary = f"canary of {volume.thread.name} ".encode()
            assert holds(tmp_path, canary)
            assert await archive.erase(volume.thread)
            assert not holds(tmp_path, canary)
    await archive.close()


@pytest.mark.behaviour("archive.erases")
async def test_an_erasure_that_a_reader_is_in_the_way_of_is_finished_by_the_next_call(tmp_path: Path) -> None:
    """It is not told as done while the write-ahead log holds what was erased."""
    archive = sqlite_archive(tmp_path / "archive.sqlite", busy_seconds=0.05)
    await archive.put(VOLUME, 1, ['{"text":"' + "canary " * 5000 + '"}'])
    with reading(tmp_path / "archive.sqlite", "BEGIN"):
        with pytest.raises(ArchiveUnavailableError):
            await archive.erase(VOLUME.thread)
        assert holds(tmp_path, b"canary")

    assert await archive.erase(VOLUME.thread) == 0
    assert not holds(tmp_path, b"canary")
    await archive.close()


async def test_the_space_of_what_was_erased_is_given_back(tmp_path: Path) -> None:
    """Once the file has grown by what that is worth; what is there stays."""
    archive = sqlite_archive(tmp_path / "archive.sqlite", reclaimed_bytes=200_000)
    await archive.put(Volume(StoreKey("joker", "kept"), 0), 1, ["{}"])
    for _ in range(40):
        await archive.put(VOLUME, 1, [json.dumps("x" * 50_000)])
        await archive.erase(VOLUME.thread)

    assert await archive.read(Volume(StoreKey("joker", "kept"), 0), 1, 1) == ["{}"]
    await archive.close()
    assert (tmp_path / "archive.sqlite").stat().st_size < 1_000_000


@pytest.mark.parametrize("seed", range(5))
async def test_an_archive_of_the_version_before_is_read_and_leaves_nothing_either(tmp_path: Path, seed: int) -> None:
    """Its entries stood beside their positions, and pieces of what it had erased stand in pages that are free."""
    seeded, path = random.Random(seed), tmp_path / "archive.sqlite"
    older = FileKind(ARCHIVE.name, ARCHIVE.setting, ARCHIVE.schema)
    with contextlib.closing(older.connect(path, "NORMAL")) as connection:
        put = "INSERT OR REPLACE INTO segment VALUES (NULL, 'joker', ?, 0, ?, ?, ?)"
        for number in range(300):
            thread_id, first = f"thread-{seeded.randrange(8)}", seeded.randint(1, number + 1)
            body = json.dumps(f"canary of {thread_id} " * seeded.choice([1, 4, 20, 60, 200, 2000]))
            connection.execute(put, (thread_id, first, first, body.encode()))
        connection.execute(put, ("thread", 1, 1, b'"the first"'))
        for number in range(7):
            connection.execute("DELETE FROM segment WHERE thread_id = ?", (f"thread-{number}",))
    archive = sqlite_archive(path)

    assert await archive.read(VOLUME, 1, 1) == ['"the first"']
    assert await archive.erase(VOLUME.thread)
    assert [number for number in range(7) if holds(tmp_path, f"canary of thread-{number} ".encode())] == []
    await archive.close()


@pytest.mark.behaviour("archive.unavailable")
async def test_a_file_that_cannot_be_opened_is_reported_and_tried_again(tmp_path: Path) -> None:
    """The next call after the outage goes through."""
    path = tmp_path / "kept" / "archive.sqlite"
    path.parent.write_text("not a folder")
    archive = sqlite_archive(path)

    for call in (archive.put(VOLUME, 1, ["{}"]), archive.read(VOLUME, 1, 1), archive.erase(VOLUME.thread)):
        with pytest.raises(ArchiveUnavailableError):
            await call

    path.parent.unlink()
    await archive.put(VOLUME, 1, ["{}"])
    assert await archive.read(VOLUME, 1, 1) == ["{}"]
    await archive.close()


@contextlib.contextmanager
def reading(path: Path, *statements: str) -> Iterator[None]:
    """Hold the file open as another process does that has read of it, within a transaction where one is begun."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        for statement in (*statements, "SELECT count(*) FROM object"):
            reader.execute(statement).fetchone()
        yield
