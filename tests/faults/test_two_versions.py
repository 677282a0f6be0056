"""Two versions of the code on one log, as in every rolling deployment: processes of both, and threads that both meet.

The newer version is a copy of the code that writes all its events as the older one cannot read them yet. Processes are
updated by starting them again from where the deployed code lies, one at a time.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from hosting.core.stores.contract import StoredHead
from hosting.core.thread import versions
from hosting.host_settings import task_hub
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_thread_store
from tests.support.code_versions import version_of_code
from tests.support.grouped_app import GroupedApp, GroupHost, grouped_app
from tests.support.kept_in import KINDS, kept_in
from tests.support.running_host import ROOT

pytestmark = [
    pytest.mark.slow(seconds=60),
    pytest.mark.behaviour("groups.versions"),
    pytest.mark.skipif(sys.platform == "win32", reason="a link to the deployed code needs a right there"),
]

GUARD_SECONDS = 30.0
RUN = "/api/agents/Storm/run"
THREAD = "/api/agents/Storm/threads/t"
AGAIN = "@dafx-storm@t failed and is tried again"


@dataclass(frozen=True)
class Deployed:
    """The app's processes and the link to the code that they run."""

    app: GroupedApp
    code: Path
    folder: Path
    environ: dict[str, str]
    charges: Path

    def update(self, host: GroupHost, code: Callable[[Path], Path] | None = None) -> None:
        """Start a process again from the newer code, or from another one."""
        host.stop()
        self.code.unlink()
        self.code.symlink_to((code or newer_code)(self.code.parent))
        host.start()

    async def stored(self) -> StoredHead | None:
        """Return the thread's head as the log has it."""
        store = choose_thread_store(
            read_settings(self.environ), self.folder, self.environ, task_hub(self.folder, self.environ)
        )
        try:
            return await store.head(Address.of("Storm", "t"))
        finally:
            await store.close()


def older_code(folder: Path) -> Path:
    return version_of_code(folder, "older", versions.VERSION, versions.NEWEST_VERSION)


def newer_code(folder: Path) -> Path:
    """Return a folder with the next version of the code."""
    version = versions.NEWEST_VERSION + 1
    return version_of_code(folder, "newer", version, version)


@pytest.fixture
def deployed(tmp_path: Path, stores: dict[str, str]) -> Iterator[Deployed]:
    """The app as it is before anything is updated."""
    with deploying(tmp_path, stores) as deployed:
        yield deployed


@contextmanager
def deploying(
    tmp_path: Path, settings: dict[str, str], begin: Callable[[Path], Path] = older_code
) -> Iterator[Deployed]:
    """The app on two HTTP processes and a durable one, all of the code that it is to `begin` with."""
    folder, code, charges = tmp_path / "app", tmp_path / "code", tmp_path / "charges.txt"
    folder.mkdir()
    charges.touch()
    shutil.copy(Path(__file__).parent / "storm_app" / "function_app.py", folder)
    shutil.copy(ROOT / "host.json", folder)
    code.symlink_to(begin(tmp_path))
    log = {**settings, "CHARGES": str(charges), "LEASE_SECONDS": "1"}
    with grouped_app(folder, log={**log, "PYTHONPATH": os.pathsep.join([str(code), str(ROOT)])}) as app:
        yield Deployed(app, code, folder, log, charges)


def run(host: GroupHost, message: str, key: str = "", *, wait: bool = True) -> httpx.Response:
    """Send a message to the thread by way of that process."""
    body = {"message": message, "thread_id": "t", "wait_for_response": wait}
    headers = {"Idempotency-Key": key} if key else {}
    return httpx.post(host.origin + RUN, json=body, headers=headers, timeout=GUARD_SECONDS)


def messages(host: GroupHost) -> list[str]:
    """Return what users said on the thread."""
    page = httpx.get(f"{host.origin}{THREAD}/messages?limit=200", timeout=GUARD_SECONDS).json()
    entries = [entry for entry in page["entries"] if entry["type"] == "request"]
    return [entry["messages"][0]["contents"][0]["text"] for entry in entries]


@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_an_older_process_decides_nothing_where_a_newer_one_works_and_goes_on_once_it_is_updated(
    deployed: Deployed,
) -> None:
    """Each of its doors answers 503 with `Retry-After`, and its entity asks to be delivered again."""
    newer, older = deployed.app.http
    assert run(older, "say 1").status_code == 200
    deployed.update(newer)
    answered = run(newer, "say 2")
    assert answered.status_code == 200
    left = run(newer, "charge 3 left", wait=False)
    assert left.status_code == 202
    for _ in range(2):
        assert "NewerVersionError" in deployed.app.durable.running.wait_for(AGAIN, GUARD_SECONDS)
    before = await deployed.stored()

    refused = doors(older, answered.json()["run_id"])

    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(503, "newer_version")}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert (await deployed.stored(), deployed.charges.read_text()) == (before, "")

    deployed.update(deployed.app.durable)
    until(lambda: deployed.charges.read_text() == "left\n")
    deployed.update(older)
    assert run(older, "say 4").status_code == 200
    assert messages(older) == ["say 1", "say 2", "charge 3 left", "say 4"]


def doors(host: GroupHost, run_id: str) -> list[httpx.Response]:
    """Return what the process answers whoever reads the thread, or wants to change it."""
    place = f"{THREAD}/runs/{run_id}"
    requested = [
        ("POST", RUN, {"json": {"message": "say 5", "thread_id": "t"}}),
        ("POST", RUN, {"json": {"message": "say 6", "thread_id": "t", "wait_for_response": False}}),
        ("POST", RUN, {"json": {"message": "say 7", "thread_id": "t"}, "headers": {"Accept": "text/event-stream"}}),
        ("GET", place, {}),
        ("GET", f"{place}/events", {}),
        ("POST", f"{place}/cancel", {}),
        ("GET", f"{THREAD}/approvals", {}),
        ("POST", f"{THREAD}/approvals/a1", {"json": {"approved": True}}),
        ("GET", THREAD, {}),
        ("GET", f"{THREAD}/messages", {}),
        ("GET", f"{THREAD}/runs", {}),
        ("GET", f"{THREAD}/export", {}),
        ("POST", f"{THREAD}/fork", {"json": {"thread_id": "none"}}),
        ("POST", f"{THREAD}/reset", {}),
        ("DELETE", THREAD, {}),
    ]
    with httpx.Client(base_url=host.origin, timeout=GUARD_SECONDS) as client:
        return [client.request(method, path, **options) for method, path, options in requested]


def until(fact: Callable[[], bool]) -> None:
    end = time.monotonic() + GUARD_SECONDS
    while not fact():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.05)


@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_run_of_an_older_process_is_ended_by_a_newer_one_that_came_to_its_thread(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """Its holder appends nothing behind that, and its caller, told to come again, gets the one answer."""
    with deploying(tmp_path, stores, begin=newer_code) as deployed:
        newer, older = deployed.app.http
        deployed.update(older, older_code)
        begun = asyncio.create_task(asyncio.to_thread(run, older, "wait 2 first", "key"))
        await asyncio.to_thread(until, lambda: httpx.get(f"{newer.origin}{THREAD}/runs").status_code == 200)

        behind = await asyncio.to_thread(run, newer, "say 1 second")
        refused = await begun
        again = await asyncio.to_thread(run, newer, "wait 2 first", "key")
        shown = messages(newer)

    assert (refused.status_code, refused.json()["code"], again.status_code) == (503, "newer_version", 200)
    assert (again.json()["response"], behind.json()["response"]) == ("done: wait 2 first", "done: say 1 second")
    assert shown == ["wait 2 first", "say 1 second"]
