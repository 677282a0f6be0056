"""An app in groups, as Flex Consumption runs it: HTTP hosts that do not notice whether the durable one is there."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from devhost.durable.unkind import VARIABLE
from tests.support.carriers import APP
from tests.support.grouped_app import GroupHost, grouped_app
from tests.support.kept_in import over
from tests.support.running_host import APPS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unkind")]

GUARD_SECONDS = 30.0
AGENT = "/api/agents/Joker"


@pytest.fixture
def unkind(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Have the hosts' engine do by chance what the real one may do."""
    monkeypatch.setenv(VARIABLE, f"{seed}; faster 60")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(APP, tmp_path / "app"))


def ask(host: GroupHost, message: str) -> str:
    """Have a message accepted that nobody waits for; return where its run is read."""
    body = {"message": message, "thread_id": "t", "wait_for_response": False}
    answer = httpx.post(f"{host.origin}{AGENT}/run", json=body, timeout=GUARD_SECONDS)
    assert answer.status_code == 202
    return httpx.URL(answer.headers["location"]).path


def read(host: GroupHost, path: str) -> Any:
    return httpx.get(host.origin + path, timeout=GUARD_SECONDS).json()


def until(status: str, run: str, host: GroupHost) -> None:
    end = time.monotonic() + GUARD_SECONDS
    while (output := read(host, run)["status"]) != status:
        assert time.monotonic() < end, f"the run is {output!r}, and should be {status!r}"
        time.sleep(0.02)


@pytest.mark.behaviour("groups.durable-absent")
@over("log_settings", "tables")
def test_what_is_accepted_while_the_durable_host_is_absent_is_done_when_it_comes(
    folder: Path, log_settings: dict[str, str]
) -> None:
    """By either HTTP host, and both tell of its end."""
    with grouped_app(folder, durable=0, log=log_settings) as app:
        runs = [ask(host, "hi") for host in app.http]
        before = {read(app.http[0], run)["status"] for run in runs}
        app.durable.start()
        for run in runs:
            for host in app.http:
                until("success", run, host)

    assert before <= {"accepted", "queued"}


@pytest.mark.behaviour("groups.durable-killed")
@over("log_settings", "redis")
def test_a_durable_host_that_is_killed_in_the_middle_of_a_run_is_not_noticed_by_http_hosts(
    folder: Path, log_settings: dict[str, str]
) -> None:
    """They accept while it is away; started again it finishes the run and takes up what came, in the thread's order."""
    with grouped_app(folder, log={**log_settings, "LEASE_SECONDS": "2"}) as app:
        one, two = app.http
        running = ask(one, "sleep 3")  # longer than a busy machine takes to say so
        until("running", running, two)
        app.durable.kill()
        meanwhile = [ask(host, "after") for host in app.http]
        health = [httpx.get(f"{host.origin}/api/health").status_code for host in app.http]
        app.durable.start()
        for run in (running, *meanwhile):
            until("success", run, two)
        kept = read(one, f"{AGENT}/threads/t/export")
        entries = read(one, f"{AGENT}/threads/t/messages")["entries"]

    assert health == [200, 200]
    assert sorted(run["attempts"] for run in kept["runs"]) == [1, 1, 2]
    assert [entry["type"] for entry in entries] == ["request", "response"] * 3


@pytest.mark.behaviour("groups.one-start")
async def test_one_instance_id_started_at_two_hosts_at_once_is_one_instance(tmp_path: Path) -> None:
    """One is told 202 and one 409, whichever was first; it runs once when the durable host comes."""
    folder = Path(shutil.copytree(APPS / "durable", tmp_path / "app", ignore=shutil.ignore_patterns(".devhost")))
    ids = [f"twice-{n}" for n in range(8)]
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
        with grouped_app(folder, durable=0, log={}) as app:
            for instance in ids:
                path = f"/runtime/webhooks/durabletask/orchestrators/greet_all/{instance}"
                starts = (http.post(host.origin + path, json={"names": [instance]}) for host in app.http)
                assert sorted(answer.status_code for answer in await asyncio.gather(*starts)) == [202, 409]
            app.durable.start()
            ended = [await output_of(http, app.origin, instance) for instance in ids]

    assert ended == [[f"hello {instance}"] for instance in ids]


async def output_of(http: httpx.AsyncClient, origin: str, instance: str) -> object:
    end = time.monotonic() + GUARD_SECONDS
    while (answer := await http.get(f"{origin}/runtime/webhooks/durabletask/instances/{instance}")).status_code != 200:
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.02)
    return answer.json()["output"]
