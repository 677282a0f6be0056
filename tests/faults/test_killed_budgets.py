"""A run with a budget whose process is killed by SIGKILL: another process goes on with what it has used."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.support.grouped_app import grouped_app
from tests.support.running_host import ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0


@pytest.mark.behaviour("turn.budget")
async def test_a_killed_run_goes_on_with_what_it_has_used_of_its_budget(
    tmp_path: Path, log_settings: dict[str, str]
) -> None:
    """Six calls of 10 tokens, for 1 each, however many processes make them; the one that was lost is made again.

    So of the budget for a run, and of that for its owner's day.
    """
    shutil.copy(Path(__file__).parent / "budget_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    names = [f"Run-{new_id()}", f"Day-{new_id()}"]  # no test before has spent their day in this store
    calls, goes_on = {agent: tmp_path / agent for agent in names}, tmp_path / "goes_on"
    held = {"AGENTS": " ".join(names), "CALLS": str(tmp_path), "GOES_ON": str(goes_on), "HOLDS_AT": "4"}
    environ = {**log_settings, **held}
    with grouped_app(tmp_path, log=environ) as app:
        one, two = app.http
        async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
            begun = [
                asyncio.ensure_future(
                    http.post(f"{one.origin}/api/agents/{agent}/run", json={"message": "go", "thread_id": "t"})
                )
                for agent in calls
            ]
            while not all(file.exists() and "4" in file.read_text().split() for file in calls.values()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            one.kill()
            await asyncio.gather(*begun, return_exceptions=True)
            goes_on.touch()
            ended = [await _ended(http, f"{two.origin}/api/agents/{agent}/threads/t/runs") for agent in calls]

    for file, (run, outcome), per in zip(calls.values(), ended, ("run", "owner/day"), strict=True):
        assert (run["code"], run["attempts"], run["usage"]["total_token_count"]) == ("budget_exceeded", 2, 60)
        budget = outcome["error"]["budget"]
        assert ("renews_at" in budget) == (per == "owner/day")
        assert {**budget, "renews_at": None} == {
            "per": per,
            "tokens": 60,
            "used_tokens": 60,
            "left_tokens": 0,
            "cost": "6",
            "used_cost": "6",
            "left_cost": "0",
            "renews_at": None,
        }
        assert run["cost"] == "6"
        assert file.read_text().split() == ["1", "2", "3", "4", "4", "5", "6"]


async def _ended(http: httpx.AsyncClient, runs: str) -> tuple[Any, Any]:
    """Return the thread's one run as it is listed once it has ended, and its outcome."""
    while (run := (await http.get(runs)).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return run, (await http.get(f"{runs}/{run['run_id']}")).json()
