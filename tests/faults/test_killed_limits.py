"""Runs with a limit in two processes, of which one is killed: what was counted outlives it, what it was at does not."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.running_host import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("turn.limit")]

GUARD_SECONDS = 60.0
HOLDS_AT = 3
AGENT = f"Run-{new_id()}"


@pytest.fixture
def app(tmp_path: Path, stores: dict[str, str], request: pytest.FixtureRequest) -> Iterator[GroupedApp]:
    """The app with so many runs at once as the test's parameter says."""
    shutil.copy(Path(__file__).parent / "budget_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    held = {"CALLS": str(tmp_path / "calls"), "GOES_ON": str(tmp_path / "goes_on"), "HOLDS_AT": str(HOLDS_AT)}
    with grouped_app(tmp_path, log={**stores, **held, "AGENT": AGENT, "LIMITED": request.param}) as app:
        yield app


def ask(http: httpx.AsyncClient, origin: str, thread_id: str) -> Any:
    return http.post(f"{origin}/api/agents/{AGENT}/run", json={"message": "go", "thread_id": thread_id})


@pytest.mark.parametrize("app", ["1"], indirect=True)
async def test_what_a_limit_counted_outlives_the_process_and_what_that_was_at_does_not(
    app: GroupedApp, tmp_path: Path
) -> None:
    """Three requests are taken, by whichever process; the tokens of before the kill and of after it are the run's 60.

    What the dead process was at counts nowhere: the other one, and the one that is started again, have room.
    """
    one, two = app.http
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
        first = asyncio.ensure_future(ask(http, one.origin, "t"))
        while not (tmp_path / "calls").exists() or str(HOLDS_AT) not in (tmp_path / "calls").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        full = await ask(http, one.origin, "u")
        one.kill()
        await asyncio.gather(first, return_exceptions=True)
        (tmp_path / "goes_on").touch()
        runs = f"{two.origin}/api/agents/{AGENT}/threads/t/runs"
        while (run := (await http.get(runs)).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        by_another = await ask(http, two.origin, "u")
        one.start()
        by_the_same = await ask(http, one.origin, "v")
        refused = [await ask(http, host.origin, "w") for host in app.http]

    assert (run["code"], run["attempts"]) == ("budget_exceeded", 2)
    assert (full.status_code, full.json()["limit"]["of"]) == (429, "runs")
    assert [answer.status_code for answer in (by_another, by_the_same)] == [402, 402]
    assert standing(by_another) == {"requests": 1, "tokens": 940, "runs": 0}
    assert standing(by_the_same) == {"requests": 0, "tokens": 880, "runs": 0}
    assert [(answer.status_code, answer.json()["limit"]["of"]) for answer in refused] == [(429, "requests")] * 2


@pytest.mark.parametrize("app", ["50"], indirect=True)
async def test_of_requests_that_two_processes_get_at_once_as_many_are_taken_as_the_limit_says(
    app: GroupedApp, tmp_path: Path
) -> None:
    """And all others are refused, whichever process has them."""
    (tmp_path / "goes_on").touch()
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
        answers = await asyncio.gather(*(ask(http, host.origin, new_id()) for _ in range(8) for host in app.http))

    refused = [answer.json()["limit"]["of"] for answer in answers if answer.status_code == 429]
    assert sorted(answer.status_code for answer in answers) == [402] * 3 + [429] * 13
    assert set(refused) == {"requests"}


def standing(answer: httpx.Response) -> dict[str, int]:
    """Return how much is left of each limit."""
    parts = [limit.split(";") for limit in answer.headers["ratelimit"].split(", ")]
    return {name.strip('"'): int(left.removeprefix("r=")) for name, left, *_ in parts}
