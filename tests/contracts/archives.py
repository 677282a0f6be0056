"""The archive's backends, each as a factory: a second store is a second process's view of the same archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hosting.archive.memory import MemoryArchive
from hosting.archive.sqlite import SqliteArchive
from hosting.ports import ArchiveStore

OpenArchive = Callable[[], ArchiveStore]
ARCHIVES = ["memory", "sqlite"]


def _memory(request: pytest.FixtureRequest) -> OpenArchive:
    archive = MemoryArchive()
    return lambda: archive


def _sqlite(request: pytest.FixtureRequest) -> OpenArchive:
    folder: Path = request.getfixturevalue("tmp_path")
    return lambda: SqliteArchive(folder / "new" / "archive.sqlite")


FACTORIES: dict[str, Callable[[pytest.FixtureRequest], OpenArchive]] = {"memory": _memory, "sqlite": _sqlite}
