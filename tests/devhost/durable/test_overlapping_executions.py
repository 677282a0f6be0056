"""Two executions of one entity at once: a process that stood still goes on after another one has worked on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devhost.durable.records import Entity, EntityId, Operation, Outgoing, Step, entity_target
from devhost.durable.store.sqlite import SqliteStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("engine.overtaken-execution"),
    pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped and continued there"),
]

COUNTER = EntityId("counter", "k")
EARLIER = datetime(2020, 1, 1, tzinfo=UTC)
ROOT = Path(__file__).parents[3]
GUARD_SECONDS = 30


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """What all processes of the folder share."""
    store = SqliteStore(tmp_path)
    store.open()
    yield store
    await store.close()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    """Processes that work on the folder's messages, each killed with the test."""
    with ExitStack() as stack:
        yield Workers(tmp_path, stack)


class Workers:
    """Starts processes that work on a folder's messages."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack

    def start(self, *words: str, crash_at: str = "") -> subprocess.Popen[str]:
        program = [sys.executable, "-W", "ignore", "-m", "tests.devhost.durable.overlapping_program"]
        environment = os.environ | {"DEVHOST_CRASH_AT": crash_at}
        started = subprocess.Popen(
            [*program, str(self._folder), *words], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        self._stack.callback(started.communicate)
        self._stack.callback(started.kill)
        return started

    def start_and_stop_inside_the_first_operation(self) -> subprocess.Popen[str]:
        stopped = self.start("stops")
        _, status = os.waitpid(stopped.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), status
        return stopped


async def send(store: SqliteStore, name: str, due: datetime | None = None) -> None:
    """Have an operation wait for the entity; one that is due earlier stands before those that were sent since."""
    message = Outgoing(entity_target(COUNTER), Operation(name, name, None), due)
    await store.commit(Step(produced=(message,), at=datetime.now(UTC)))


def handed_to(worker: subprocess.Popen[str]) -> list[list[object]]:
    """Return the states and operations that a process was handed, once it has nothing more to do."""
    printed, _ = worker.communicate(timeout=GUARD_SECONDS)
    handed: list[list[object]] = json.loads(printed)
    return handed


async def state(store: SqliteStore) -> list[str]:
    entity = await store.entity(COUNTER)
    assert isinstance(entity, Entity)
    return list(json.loads(entity.state or "[]"))


async def test_an_execution_whose_entity_changed_is_refused_and_handed_out_again(
    store: SqliteStore, workers: Workers
) -> None:
    """Another process did an operation that stands before its own and died: its own still waits."""
    await send(store, "second")
    stopped = workers.start_and_stop_inside_the_first_operation()
    await send(store, "first", EARLIER)
    killed = workers.start(crash_at="after-commit")
    assert killed.wait(GUARD_SECONDS) == -signal.SIGKILL

    os.kill(stopped.pid, signal.SIGCONT)

    assert handed_to(stopped) == [[[], "second"], [["first"], "second"]]
    assert await state(store) == ["first", "second"]


async def test_an_execution_whose_operations_another_has_done_does_them_not_again(
    store: SqliteStore, workers: Workers
) -> None:
    """Its own outcome is dropped, and it goes on with what came behind them."""
    await send(store, "first")
    stopped = workers.start_and_stop_inside_the_first_operation()
    assert handed_to(workers.start()) == [[[], "first"]]
    await send(store, "second")

    os.kill(stopped.pid, signal.SIGCONT)

    assert handed_to(stopped) == [[[], "first"], [["first"], "second"]]
    assert await state(store) == ["first", "second"]
