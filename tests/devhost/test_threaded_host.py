"""The host in a thread of a process that has other things to do, and the clock that a file sets ahead for it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import azure.functions as func
import httpx
import pytest

from devhost.errors import AppLoadError
from devhost.moved_clock import MovedClock
from devhost.threaded import ThreadedHost
from tests.support.app_folder import make_app

GUARD_SECONDS = 5.0
HOUR = 3600.0


@pytest.fixture(autouse=True)
def _own_variables() -> Iterator[None]:
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def hello() -> ModuleType:
    """Return the module of an app that greets."""
    module, app = ModuleType("hello_app"), func.FunctionApp()

    @app.route("hello", auth_level=func.AuthLevel.ANONYMOUS)
    def greet(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(f"Hello from {os.environ['WEBSITE_HOSTNAME']}")

    module.app = app  # type: ignore[attr-defined]
    return module


def test_an_app_is_served_until_it_is_stopped_and_the_process_stays_as_it_is(tmp_path: Path) -> None:
    """Its signals, its folder and its garbage are its own, and its variables say where the app is."""
    folder = make_app(tmp_path, "")
    before, frozen = (os.getcwd(), signal.getsignal(signal.SIGTERM), gc.get_threshold()), gc.get_freeze_count()
    host = ThreadedHost(folder, tmp_path / "clock")
    url = host.start(hello, os.environ)
    answer = httpx.get(f"{url}/api/hello", trust_env=False)
    host.stop()

    assert answer.text == f"Hello from {url.removeprefix('http://')}"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/api/hello", trust_env=False)
    assert (os.getcwd(), signal.getsignal(signal.SIGTERM), gc.get_threshold()) == before
    assert gc.get_freeze_count() <= frozen


def test_an_app_that_cannot_be_imported_is_refused_with_its_reason(tmp_path: Path) -> None:
    """As by the host that has its own process; a host that never started is stopped without harm."""

    def broken() -> ModuleType:
        raise ValueError("The ledger is not there.")

    host = ThreadedHost(make_app(tmp_path, ""), tmp_path / "clock")
    with pytest.raises(AppLoadError, match="ValueError: The ledger is not there"):
        host.start(broken, os.environ)
    host.stop()


def move(file: Path, ahead: float) -> None:
    """Set the time ahead by so many seconds in all, as another process does."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"{ahead}\n")


def test_it_shows_the_time_of_the_machine_and_what_the_last_whole_line_adds(tmp_path: Path) -> None:
    file = tmp_path / "clock.jsonl"
    clock = MovedClock(file)
    seen = [clock.now() - datetime.now(UTC)]
    move(file, HOUR)
    move(file, 2 * HOUR)
    file.write_text(f"{file.read_text(encoding='utf-8')}9", encoding="utf-8")
    seen.append(clock.now() - datetime.now(UTC))

    assert [round(ahead / timedelta(hours=1), 3) for ahead in seen] == [0, 2]


async def test_a_call_comes_once_the_time_was_moved_to_it(tmp_path: Path) -> None:
    """One that is due later, or that nobody waits for, does not."""
    file = tmp_path / "clock.jsonl"
    clock, called, over = MovedClock(file), list[str](), asyncio.Event()
    clock.call_later(HOUR, over.set)
    clock.call_later(3 * HOUR, lambda: called.append("late"))
    clock.call_later(HOUR / 2, lambda: called.append("cancelled")).cancel()
    move(file, 2 * HOUR)
    await asyncio.wait_for(over.wait(), GUARD_SECONDS)

    assert called == []
