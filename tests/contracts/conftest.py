"""The run log backends, each as a factory: a second store is a second process's view of the same logs."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hosting.ports import RunLogStore
from hosting.runlog.memory import MemoryStore
from hosting.runlog.sqlite import SqliteStore

OpenStore = Callable[[], RunLogStore]


@pytest.fixture
def run_log_path(tmp_path: Path) -> Path:
    """A file in a folder that does not exist yet."""
    return tmp_path / "logs" / "runs.sqlite"


@pytest.fixture(params=["memory", "sqlite"])
async def open_store(request: pytest.FixtureRequest, run_log_path: Path) -> AsyncIterator[OpenStore]:
    """Opens the logs of this test; memory has one view of them, SQLite as many as it is opened."""
    memory = MemoryStore()
    opened: list[RunLogStore] = []

    def open_one() -> RunLogStore:
        opened.append(memory if request.param == "memory" else SqliteStore(run_log_path))
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()
