"""An app in groups, as Flex Consumption runs it: HTTP hosts that do not notice whether the durable one is there."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from devhost.durable.unkind import VARIABLE
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.kept_in import over
from tests.support.running_host import APPS, ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 30.0
RUN = "/api/agents/timed/run"
START = "/runtime/webhooks/durabletask/orchestrators/greet_all/{}"


@pytest.fixture
def unkind(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Have the hosts' engine do by chance what the real one may do."""
    monkeypatch.setenv(VARIABLE, f"{seed}; faster 60")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app of a known time."""
    for file in (ROOT / "tests" / "azure" / "app" / "function_app.py", ROOT / "host.json"):
        shutil.copy(file, tmp_path)
    return tmp_path


def ask(origin: str, message: str, **fields: object) -> httpx.Response:
    """Have a message accepted that nobody waits for."""
    body = {"message": message, "wait_for_response": False, **fields}
    return httpx.post(origin + RUN, json=body, timeout=GUARD_SECONDS)


def run_of(accepted: httpx.Response, origin: str) -> dict[str, Any]:
    """Ask a host for the run that was accepted, by whichever."""
    place = f"/api/agents/timed/threads/{accepted.json()['thread_id']}/runs/{accepted.json()['run_id']}"
    run: dict[str, Any] = httpx.get(origin + place, timeout=GUARD_SECONDS).json()
    return run


def until(status: str, accepted: httpx.Response, origin: str) -> None:
    """Return once the run's status is that."""
    end = time.monotonic() + GUARD_SECONDS
    while (output := run_of(accepted, origin)["status"]) != status:
        assert time.monotonic() < end, f"the run is {output!r}, and should be {status!r}"
        time.sleep(0.02)


@pytest.mark.usefixtures("unkind")
@pytest.mark.behaviour("groups.durable-absent")
@over("log_settings", "tables")
def test_what_is_accepted_while_the_durable_host_is_absent_is_done_when_it_comes(
    folder: Path, log_settings: dict[str, str]
) -> None:
    """By either HTTP host, and both tell of its end."""
    with grouped_app(folder, durable=0, log=log_settings) as app:
        accepted = [ask(host.origin, f"word {n}", thread_id="absent") for n, host in enumerate(app.http)]
        assert [answer.status_code for answer in accepted] == [202, 202]
        assert {run_of(answer, app.origin)["status"] for answer in accepted} <= {"accepted", "queued"}

        app.durable.start()

        for answer in accepted:
            for host in app.http:
                until("success", answer, host.origin)


@pytest.mark.usefixtures("unkind")
@pytest.mark.behaviour("groups.durable-killed")
@over("log_settings", "redis")
def test_a_durable_host_that_is_killed_in_the_middle_of_a_run_is_not_noticed_by_http_hosts(
    folder: Path, log_settings: dict[str, str]
) -> None:
    """They accept while it is away; started again it finishes the run and takes up what came, in the thread's order."""
    with grouped_app(folder, log=log_settings) as app:
        one, two = (host.origin for host in app.http)
        running = ask(one, "wait 3", thread_id="killed")  # longer than a busy machine takes to say so
        until("running", running, two)

        app.durable.kill()
        meanwhile = [ask(origin, f"after {n}", thread_id="killed") for n, origin in enumerate((one, two))]
        assert [answer.status_code for answer in meanwhile] == [202, 202]
        assert [httpx.get(f"{origin}/api/health").status_code for origin in (one, two)] == [200, 200]
        app.durable.start()

        for answer in (running, *meanwhile):
            until("success", answer, two)
        kept = httpx.get(f"{one}/api/agents/timed/threads/killed/export", timeout=GUARD_SECONDS).json()
        assert sorted(run["attempts"] for run in kept["runs"]) == [1, 1, 2]
        messages = httpx.get(f"{one}/api/agents/timed/threads/killed/messages", timeout=GUARD_SECONDS).json()
        assert [entry["type"] for entry in messages["entries"]] == ["request", "response"] * 3


@pytest.fixture
def starters(tmp_path: Path) -> Iterator[GroupedApp]:
    """Two HTTP hosts of an app with an orchestration, and no durable one."""
    folder = shutil.copytree(APPS / "durable", tmp_path / "app", ignore=shutil.ignore_patterns(".devhost"))
    with grouped_app(folder, durable=0, log={}) as app:
        yield app


@pytest.mark.usefixtures("unkind")
@pytest.mark.behaviour("groups.one-start")
async def test_one_instance_id_started_at_two_hosts_at_once_is_one_instance(starters: GroupedApp) -> None:
    """One is told 202 and one 409, whichever was first; it runs once when the durable host comes."""
    ids = [f"twice-{n}" for n in range(20)]
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as client:
        for instance in ids:
            url, body = START.format(instance), {"names": [instance]}
            starts = (client.post(host.origin + url, json=body) for host in starters.http)
            assert sorted(answer.status_code for answer in await asyncio.gather(*starts)) == [202, 409]

        starters.durable.start()

        for instance in ids:
            assert await output_of(client, starters.origin, instance) == [f"hello {instance}"]


async def output_of(client: httpx.AsyncClient, origin: str, instance: str) -> object:
    end = time.monotonic() + GUARD_SECONDS
    while True:
        answer = await client.get(f"{origin}/runtime/webhooks/durabletask/instances/{instance}")
        if answer.status_code == 200:
            return answer.json()["output"]
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.02)
