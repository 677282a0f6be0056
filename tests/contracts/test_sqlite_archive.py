"""The archive's SQLite file: what it leaves on the disk, and what it says when it cannot be opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting.archive.sqlite import SqliteArchive
from hosting.errors import ArchiveUnavailableError
from hosting.events import Place
from hosting.ports import Volume

VOLUME = Volume(Place("joker", "thread"), 0)


@pytest.mark.behaviour("archive.erases")
async def test_what_was_erased_is_in_no_file_of_the_archive(tmp_path: Path) -> None:
    """Neither in freed pages nor in the write-ahead log."""
    archive = SqliteArchive(tmp_path / "archive.sqlite")
    await archive.put(VOLUME, 1, ['{"text":"' + "canary " * 5000 + '"}'])
    assert b"canary" in whole(tmp_path)

    await archive.erase(VOLUME.place)

    assert b"canary" not in whole(tmp_path)
    await archive.close()


@pytest.mark.behaviour("archive.unavailable")
async def test_a_file_that_cannot_be_opened_is_reported_and_tried_again(tmp_path: Path) -> None:
    """The next call after the outage goes through."""
    path = tmp_path / "kept" / "archive.sqlite"
    path.parent.write_text("not a folder")
    archive = SqliteArchive(path)

    for call in (archive.put(VOLUME, 1, ["{}"]), archive.read(VOLUME, 1, 1), archive.erase(VOLUME.place)):
        with pytest.raises(ArchiveUnavailableError):
            await call

    path.parent.unlink()
    await archive.put(VOLUME, 1, ["{}"])
    assert await archive.read(VOLUME, 1, 1) == ["{}"]
    await archive.close()


def whole(folder: Path) -> bytes:
    """Return the bytes of every file."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
