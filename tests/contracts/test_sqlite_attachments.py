"""The SQLite file of attachments: what it leaves on the disk."""

from __future__ import annotations

import contextlib
import hashlib
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosting.core.stores.sqlite_file import FileKind
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.errors import AttachmentsUnavailableError
from hosting.names import StoreKey
from hosting.ports import Clock
from tests.support.canary import holds

PLACE = StoreKey("joker", "thread")
CANARY = b"canary-4711 "


def attachment(body: bytes) -> dict[str, bytes]:
    """Return bytes by their hash."""
    return {hashlib.sha256(body).hexdigest(): body}


def attachments_in(folder: Path, clock: Clock = time.time, **options: Any) -> SqliteObjects:
    """Return the store in that folder."""
    return SqliteObjects(
        StoreFile(ATTACHMENTS, folder / "attachments.sqlite", AttachmentsUnavailableError, **options), clock
    )


@contextlib.contextmanager
def reading(path: Path, *statements: str) -> Iterator[None]:
    """Hold the file open as another process does that has read of it, within a transaction where one is begun."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        for statement in (*statements, "SELECT count(*) FROM object"):
            reader.execute(statement).fetchone()
        yield


@pytest.mark.behaviour("erasure.nothing-is-left")
@pytest.mark.parametrize("seed", range(5))
async def test_what_was_erased_is_in_no_file_of_the_store(tmp_path: Path, seed: int) -> None:
    """One thread after another, among others with attachments of any size; a reader has the file open."""
    seeded = random.Random(seed)
    store = attachments_in(tmp_path)
    places = [StoreKey("joker", f"thread-{n}") for n in range(8)]
    for number in range(300):
        place = seeded.choice(places)
        words = f"{number} canary of {place.name} ".encode() * seeded.choice([1, 4, 20, 60, 200, 2000])
        await store.put(place, attachment(words))

    with reading(tmp_path / "attachments.sqlite"):
        for place in seeded.sample(places, k=7):
            canary = f"canary of {place.name} ".encode()
            assert holds(tmp_path, canary)
            await store.erase(place)
            assert not holds(tmp_path, canary)
    await store.close()


@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_an_erasure_that_a_reader_is_in_the_way_of_is_finished_by_the_next_call(tmp_path: Path) -> None:
    """It is not told as done while the write-ahead log holds what was erased."""
    store = attachments_in(tmp_path, busy_seconds=0.05)
    await store.put(PLACE, attachment(CANARY * 5000))
    with reading(tmp_path / "attachments.sqlite", "BEGIN"):
        with pytest.raises(AttachmentsUnavailableError):
            await store.erase(PLACE)
        assert holds(tmp_path, CANARY)

    await store.erase(PLACE)

    assert not holds(tmp_path, CANARY)
    await store.close()


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_is_put_again_counts_as_put_then(tmp_path: Path) -> None:
    """In every process, also between the moment at which it was named and its erasure."""
    one, other = (attachments_in(tmp_path, clock=lambda at=at: at) for at in (1.0, 3.0))
    left = attachment(CANARY)
    await one.put(PLACE, left)
    named = [name for name, put_at in (await one.names(PLACE)).items() if put_at < 2.0]
    await other.put(PLACE, left)

    await one.erase(PLACE, named, before=2.0)

    assert (named, await one.names(PLACE)) == ([*left], dict.fromkeys(left, 3.0))
    await one.close()
    await other.close()


async def test_a_file_of_the_version_before_is_read_and_erased(tmp_path: Path) -> None:
    """Its bytes stood beside their hashes, and pieces of them in pages that are free."""
    older, one = FileKind(ATTACHMENTS.name, ATTACHMENTS.setting, ATTACHMENTS.schema), attachment(CANARY * 3000)
    with contextlib.closing(older.connect(tmp_path / "attachments.sqlite", "NORMAL")) as connection:
        connection.execute("INSERT INTO attachment VALUES ('joker', 'thread', ?, ?)", *one.items())
    store = attachments_in(tmp_path)

    assert await store.read(PLACE, [*one]) == one
    await store.erase(PLACE)
    assert not holds(tmp_path, CANARY)
    await store.close()
