"""What the host writes is for the user who started it."""

from __future__ import annotations

import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from tests.support.running_host import APPS, GUARD_SECONDS, RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="files there have no such modes"),
    pytest.mark.behaviour("devhost.own-files"),
]
SECRETS = {"durable.db", "durable.db-wal", "durable.db-shm", "durable.lock", "hosts.lock", "keys.json"}


def hosted_once(folder: Path) -> Mapping[str, int]:
    """Host an app with keys, an instance and a timer in the folder; return the modes of what is then in `.devhost/`."""
    with RunningHost(folder, "--port", "0", "--auth") as host:
        httpx.get(f"{host.origin}/api/start", timeout=GUARD_SECONDS)
        written = folder / ".devhost"
        return {
            str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in (written, *written.rglob("*"))
        }


def wanted(found: Mapping[str, int]) -> Mapping[str, int]:
    """Return the modes that these paths should have."""
    return {path: 0o700 if path in (".devhost", ".devhost/timers") else 0o600 for path in found}


@pytest.fixture
def keyed_folder(tmp_path: Path) -> Path:
    return shutil.copytree(APPS / "keyed", tmp_path / "app", ignore=shutil.ignore_patterns(".devhost"))


def test_what_the_host_writes_is_closed_to_other_users(keyed_folder: Path) -> None:
    """The engine's file with what SQLite keeps beside it, locks, keys, and what is remembered of timers."""
    found = hosted_once(keyed_folder)

    assert {Path(path).name for path in found} >= SECRETS
    assert any(path.startswith(".devhost/timers/") for path in found)
    assert found == wanted(found)
