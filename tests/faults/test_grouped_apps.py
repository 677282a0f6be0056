"""An app in groups, as Flex Consumption runs it: HTTP hosts that do not notice whether the durable one is there."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.devhost.grouped_app import GroupedApp, grouped_app
from tests.devhost.running_host import APPS, ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 30.0
RUN = "/api/agents/timed/run"
START = "/runtime/webhooks/durabletask/orchestrators/greet_all/{}"


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


def status_of(accepted: httpx.Response, origin: str) -> str:
    """Ask a host for the run that was accepted, by whichever."""
    place = f"/api/agents/timed/threads/{accepted.json()['thread_id']}/runs/{accepted.json()['run_id']}"
    return str(httpx.get(origin + place, timeout=GUARD_SECONDS).json()["status"])


def until(status: str, accepted: httpx.Response, origin: str) -> None:
    """Return once the run's status is that."""
    end = time.monotonic() + GUARD_SECONDS
    while (said := status_of(accepted, origin)) != status:
        assert time.monotonic() < end, f"the run is {said!r}, and should be {status!r}"
        time.sleep(0.02)


@pytest.mark.behaviour("groups.durable-absent")
def test_what_is_accepted_while_the_durable_host_is_absent_is_done_when_it_comes(
    folder: Path, run_log_settings: dict[str, str]
) -> None:
    """By either HTTP host, and both tell of its end."""
    with grouped_app(folder, durable=0, log=run_log_settings) as app:
        accepted = [ask(host.origin, f"word {n}", thread_id="absent") for n, host in enumerate(app.http)]
        assert [answer.status_code for answer in accepted] == [202, 202]
        assert {status_of(answer, app.origin) for answer in accepted} <= {"accepted", "queued"}

        app.durable.start()

        for answer in accepted:
            for host in app.http:
                until("success", answer, host.origin)


@pytest.mark.behaviour("groups.durable-killed")
def test_a_durable_host_that_is_killed_in_the_middle_of_a_run_is_not_noticed_by_http_hosts(
    folder: Path, run_log_settings: dict[str, str]
) -> None:
    """They accept while it is away; started again it finishes the run and takes up what came, in the thread's order."""
    with grouped_app(folder, log=run_log_settings) as app:
        one, two = (host.origin for host in app.http)
        running = ask(one, "wait 1", thread_id="killed")
        until("running", running, two)

        app.durable.kill()
        meanwhile = [ask(origin, f"after {n}", thread_id="killed") for n, origin in enumerate((one, two))]
        assert [answer.status_code for answer in meanwhile] == [202, 202]
        assert [httpx.get(f"{origin}/api/health").status_code for origin in (one, two)] == [200, 200]
        app.durable.start()

        for answer in (running, *meanwhile):
            until("success", answer, two)
        messages = httpx.get(f"{one}/api/agents/timed/threads/killed/messages", timeout=GUARD_SECONDS).json()
        assert [entry["type"] for entry in messages["entries"]] == ["request", "response"] * 3


@pytest.fixture
def starters(tmp_path: Path) -> Iterator[GroupedApp]:
    """Two HTTP hosts of an app with an orchestration, and no durable one."""
    folder = shutil.copytree(APPS / "durable", tmp_path / "app", ignore=shutil.ignore_patterns(".devhost"))
    with grouped_app(folder, durable=0, log={}) as app:
        yield app


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
    """The output of an instance, once it has one."""
    end = time.monotonic() + GUARD_SECONDS
    while True:
        answer = await client.get(f"{origin}/runtime/webhooks/durabletask/instances/{instance}")
        if answer.status_code == 200:
            return answer.json()["output"]
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.02)
