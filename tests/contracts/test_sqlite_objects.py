"""The SQLite files of archives and attachments: what they leave on the disk, and what they say when they are away."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path

import pytest

from hosting.core.stores.archive import Volume
from hosting.core.stores.sqlite_file import FileKind
from hosting.core.stores.sqlite_objects import ARCHIVE, ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError
from hosting.names import StoreKey
from tests.support.archives import sqlite_archive
from tests.support.canary import holds

PLACE, KEPT = StoreKey("joker", "thread"), StoreKey("joker", "kept")
VOLUME = Volume(PLACE, 0)
CANARY = b"canary-4711 "


@pytest.mark.behaviour("archive.erases")
@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_what_was_erased_is_in_no_file(tmp_path: Path, seed: int) -> None:
    """One thread after another, among others with objects of any size, some put twice; a reader has the file open."""
    seeded, file = random.Random(seed), tmp_path / "objects.sqlite"
    store = SqliteObjects(StoreFile(ATTACHMENTS, file, AttachmentsUnavailableError))
    places = [StoreKey("joker", f"thread-{n}") for n in range(8)]
    for number in range(200):
        place = seeded.choice(places)
        words = f"{number} canary of {place.name} ".encode() * seeded.choice([1, 4, 20, 60, 200, 2000])
        await store.put(place, {f"{seeded.randint(1, number + 1)}": words})

    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("SELECT count(*) FROM object").fetchone()
        for place in seeded.sample(places, k=7):
            canary = f"canary of {place.name} ".encode()
            assert holds(tmp_path, canary)
            await store.erase(place)
            assert not holds(tmp_path, canary)
    await store.close()


async def test_the_space_of_what_was_erased_is_given_back(tmp_path: Path) -> None:
    """Once the file has grown by what that is worth; what is there stays."""
    path = tmp_path / "objects.sqlite"
    store = SqliteObjects(StoreFile(ATTACHMENTS, path, AttachmentsUnavailableError, reclaimed_bytes=100_000))
    await store.put(KEPT, {"one": b"kept"})
    for _ in range(12):
        await store.put(PLACE, {"one": b"x" * 50_000})
        await store.erase(PLACE)

    assert await store.read(KEPT, ["one"]) == {"one": b"kept"}
    await store.close()
    assert path.stat().st_size < 400_000


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_is_put_again_counts_as_put_then(tmp_path: Path) -> None:
    """In every process, also between the moment at which it was named and its erasure."""
    file = StoreFile(ATTACHMENTS, tmp_path / "objects.sqlite", AttachmentsUnavailableError)
    early, late = (SqliteObjects(file, clock=lambda at=at: at) for at in (1.0, 3.0))
    await early.put(PLACE, {"left": CANARY})
    named = [name for name, put_at in (await early.names(PLACE)).items() if put_at < 2.0]
    await late.put(PLACE, {"left": CANARY})

    await early.erase(PLACE, named, before=2.0)

    assert (named, await early.names(PLACE)) == (["left"], {"left": 3.0})
    await early.close()
    await late.close()


@pytest.mark.parametrize("kind", [ARCHIVE, ATTACHMENTS], ids=["archive", "attachments"])
async def test_a_file_of_the_version_before_is_read_and_leaves_nothing_either(tmp_path: Path, kind: FileKind) -> None:
    """Its bytes stood beside their names, and pieces of what it had erased stand in pages that are free."""
    path, older = tmp_path / "objects.sqlite", FileKind(kind.name, kind.setting, kind.schema)
    body = b'"' + CANARY * 3000 + b'"'
    with contextlib.closing(older.connect(path, "NORMAL")) as connection:
        if kind is ARCHIVE:
            put = "INSERT OR REPLACE INTO segment VALUES (NULL, 'joker', ?, 0, 1, 1, ?)"
            connection.execute(put, ("gone", body))
            connection.execute("DELETE FROM segment")
            connection.execute(put, ("thread", body))
        else:
            connection.execute("INSERT INTO attachment VALUES ('joker', 'thread', 'one', ?)", (body,))
    store = SqliteObjects(StoreFile(kind, path, AttachmentsUnavailableError))

    (held,) = (await store.read(PLACE, [*await store.names(PLACE)])).values()
    assert CANARY * 3000 in held
    await store.erase(PLACE)
    assert not holds(tmp_path, CANARY)
    await store.close()


@pytest.mark.behaviour("archive.unavailable")
async def test_a_file_that_cannot_be_opened_is_reported_and_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "archive.sqlite"
    path.parent.write_text("not a folder")
    archive = sqlite_archive(path)

    for call in (archive.put(VOLUME, 1, ["{}"]), archive.read(VOLUME, 1, 1), archive.erase(PLACE)):
        with pytest.raises(ArchiveUnavailableError):
            await call

    path.parent.unlink()
    await archive.put(VOLUME, 1, ["{}"])
    assert await archive.read(VOLUME, 1, 1) == ["{}"]
    await archive.close()
