"""Runs with a limit, of two processes, of which one is killed: what was counted outlives it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.support.grouped_app import grouped_app
from tests.support.kept_in import over
from tests.support.running_host import ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0


@pytest.mark.behaviour("turn.limit")
@over("log_settings", "sqlite")
async def test_what_a_limit_counted_outlives_the_process_and_what_that_was_at_does_not(
    tmp_path: Path, log_settings: dict[str, str]
) -> None:
    """Three requests are taken, by whichever process; the tokens of before the kill and of after it are the run's 60.

    What the dead process was at counts nowhere: the other one, and the one that is started again, have room.
    """
    names, goes_on = [f"Run-{new_id()}", f"Day-{new_id()}"], tmp_path / "goes_on"
    settings = _settings(tmp_path, log_settings, names, goes_on, holds_at=3)
    with grouped_app(tmp_path, log={**settings, "LIMITED": "1"}) as app:
        one, two = app.http
        async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:

            async def ask(origin: str, thread_id: str) -> httpx.Response:
                body = {"message": "go", "thread_id": thread_id}
                return await http.post(f"{origin}/api/agents/{names[0]}/run", json=body)

            first = asyncio.ensure_future(ask(one.origin, "t"))
            await _called(tmp_path / names[0], "3")
            full = await ask(one.origin, "u")
            one.kill()
            await asyncio.gather(first, return_exceptions=True)
            goes_on.touch()
            run, _ = await _ended(http, f"{two.origin}/api/agents/{names[0]}/threads/t/runs")
            by_another = await ask(two.origin, "u")
            one.start()
            by_the_same = await ask(one.origin, "v")
            refused = [await ask(host.origin, "w") for host in app.http]

    assert (run["code"], run["attempts"]) == ("budget_exceeded", 2)
    assert (full.status_code, full.json()["limit"]["of"]) == (429, "runs")
    for answer, standing in (
        (by_another, ("requests", 1, "tokens", 940, "runs", 0)),
        (by_the_same, ("requests", 0, "tokens", 880, "runs", 0)),
    ):
        assert answer.status_code == 402
        assert tuple(_standing(answer)) == standing
    for answer in refused:
        assert (answer.status_code, answer.json()["limit"]["of"]) == (429, "requests")


@pytest.mark.behaviour("turn.limit")
@over("log_settings", "sqlite")
async def test_of_requests_that_two_processes_get_at_once_as_many_are_taken_as_the_limit_says(
    tmp_path: Path, log_settings: dict[str, str]
) -> None:
    """And all others are refused, whichever process has them."""
    settings = _settings(tmp_path, log_settings, [f"Run-{new_id()}", f"Day-{new_id()}"], tmp_path, holds_at=0)
    with grouped_app(tmp_path, log={**settings, "LIMITED": "50"}) as app:
        async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
            agent = settings["AGENTS"].split()[0]
            asked = (
                http.post(f"{host.origin}/api/agents/{agent}/run", json={"message": "go"})
                for _ in range(8)
                for host in app.http
            )
            answers = await asyncio.gather(*asked)

    refused = [answer.json()["limit"]["of"] for answer in answers if answer.status_code == 429]
    assert sorted(answer.status_code for answer in answers) == [402] * 3 + [429] * 13
    assert set(refused) == {"requests"}


def _standing(answer: httpx.Response) -> Iterator[str | int]:
    """Yield what a limit is of, and how much is left."""
    for one in answer.headers["ratelimit"].split(", "):
        name, left, *_ = one.split(";")
        yield from (name.strip('"'), int(left.removeprefix("r=")))


def _settings(folder: Path, log: dict[str, str], names: list[str], goes_on: Path, *, holds_at: int) -> dict[str, str]:
    """Return the settings of the app of agents with these names, which is in the folder now."""
    shutil.copy(Path(__file__).parent / "budget_app" / "function_app.py", folder)
    shutil.copy(ROOT / "host.json", folder)
    held = {"AGENTS": " ".join(names), "CALLS": str(folder), "GOES_ON": str(goes_on), "HOLDS_AT": str(holds_at)}
    return {**log, **held}


async def _called(file: Path, number: str) -> None:
    """Return once the model whose file this is has been asked so often in a run."""
    while not (file.exists() and number in file.read_text().split()):  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.05)


async def _ended(http: httpx.AsyncClient, runs: str) -> tuple[Any, Any]:
    """Return the thread's one run as it is listed once it has ended, and its outcome."""
    while (run := (await http.get(runs)).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return run, (await http.get(f"{runs}/{run['run_id']}")).json()
