"""A disk that is full in the middle of a commit, at whatever byte: work waits for room, and none is lost or halved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devhost.durable.store.sqlite import SqliteStore
from tests.support.warm_python import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("engine.full-disk"),
    pytest.mark.skipif(sys.platform == "win32", reason="a process's files cannot be limited there"),
]
COUNT = 20


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.devhost.durable.full_disk_program", str(folder), str(COUNT)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


async def test_a_disk_that_is_full_at_every_commit_stalls_work_and_loses_none(tmp_path: Path) -> None:
    """Each step is kept once there is room, whole and in its order; the one that waits at the stop is given up whole.

    The future of that one fails, so nobody believes in it, and the next host finds nothing of it.
    """
    ended = run(tmp_path)
    store = SqliteStore(tmp_path)
    store.open()
    found = await store.list_entities("@", "", None)
    await store.close()

    kept = [f"kept {number}" for number in range(COUNT - 1)]
    assert ended.stdout.splitlines() == [*kept, "given up: OperationalError"], ended.stderr
    states = [(entity.id.key, len(entity.state or "")) for entity in found]
    assert states == [(f"{number:03}", 20_000) for number in range(COUNT - 1)]
