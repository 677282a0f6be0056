"""The host in a thread of a process that has other things to do."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import azure.functions as func
import httpx
import pytest

from devhost.errors import AppLoadError
from devhost.threaded import ThreadedHost
from tests.support.app_folder import make_app


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
