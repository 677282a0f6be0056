"""A disk that is full in the middle of a commit, at whatever byte: work waits for room, and none is lost or halved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devhost.durable.store.sqlite import SqliteStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("engine.full-disk"),
    pytest.mark.skipif(sys.platform == "win32", reason="a process's files cannot be limited there"),
]
_ROOT = Path(__file__).parents[3]
_COUNT = 20


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.devhost.durable.full_disk_program", str(folder), str(_COUNT), *words]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=60, check=False)


async def _kept(folder: Path) -> list[tuple[str, int]]:
    """Return the entities that the next process finds, with the lengths of their states."""
    store = SqliteStore(folder)
    store.open()
    found = await store.list_entities("@", "", None)
    await store.close()
    return [(entity.id.key, len(entity.state or "")) for entity in found]


async def test_a_disk_that_is_full_at_every_commit_stalls_work_and_loses_none(tmp_path: Path) -> None:
    """Each step is kept once there is room, whole and in its order, and not reported before."""
    ended = _run(tmp_path)

    assert ended.stdout.splitlines() == [f"kept {number}" for number in range(_COUNT)], ended.stderr
    assert await _kept(tmp_path) == [(f"{number:03}", 20_000) for number in range(_COUNT)]


async def test_a_host_that_stops_on_a_full_disk_gives_the_step_up_whole(tmp_path: Path) -> None:
    """Its future fails, so nobody believes in it; the next host finds all that was kept before, and nothing of it."""
    ended = _run(tmp_path, "stop")

    assert ended.stdout.splitlines()[-1] == "given up: OperationalError", ended.stderr
    assert await _kept(tmp_path) == [(f"{number:03}", 20_000) for number in range(_COUNT - 1)]


@pytest.mark.behaviour("engine.deleted-texts")
def test_a_step_is_kept_once_when_the_log_cannot_be_emptied_behind_it(tmp_path: Path) -> None:
    """Its success is told, its message is there once, and the deleted text goes as soon as there is room."""
    ended = _run(tmp_path, "deletes")

    assert ended.stdout.splitlines() == ["None 1", "gone"], ended.stderr


def test_a_host_that_starts_on_a_full_disk_says_so_in_a_sentence(tmp_path: Path) -> None:
    """With the path, and no traceback."""
    start = "from pathlib import Path; from devhost.durable.store.sqlite import SqliteStore; import resource, sys"
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))"
    code = f"{start}\n{limit}\ntry: SqliteStore(Path(sys.argv[1])).open()\nexcept Exception as error: print(error)"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=_ROOT, capture_output=True, text=True, timeout=30, check=False
    )

    assert ended.stdout.startswith(f"{tmp_path / 'durable.db'} cannot be written ("), ended.stderr
