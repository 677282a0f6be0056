"""A run with a budget whose process is killed by SIGKILL: another process goes on with what it has used."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

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
    """Six calls of 10 tokens, for 1 each, however many processes make them; the one that was lost is made again."""
    shutil.copy(Path(__file__).parent / "budget_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    calls, goes_on, thread_id = tmp_path / "calls.txt", tmp_path / "goes_on", new_id()
    environ = {**log_settings, "CALLS": str(calls), "GOES_ON": str(goes_on), "HOLDS_AT": "4"}
    with grouped_app(tmp_path, log=environ) as app:
        one, two = app.http
        body = {"message": "go", "thread_id": thread_id, "wait_for_response": False}
        async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
            begun = asyncio.ensure_future(
                http.post(f"{one.origin}/api/agents/Spender/run", json={**body, "wait_for_response": True})
            )
            while not (calls.exists() and "4" in calls.read_text().split()):  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)
            one.kill()
            await asyncio.gather(begun, return_exceptions=True)
            goes_on.touch()
            runs = f"{two.origin}/api/agents/Spender/threads/{thread_id}/runs"
            while (run := (await http.get(runs)).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            outcome = (await http.get(f"{runs}/{run['run_id']}")).json()

    assert (run["code"], run["attempts"], run["usage"]["total_token_count"]) == ("budget_exceeded", 2, 60)
    assert outcome["error"]["budget"] == {
        "per": "run",
        "tokens": 60,
        "used_tokens": 60,
        "left_tokens": 0,
        "cost": "6",
        "used_cost": "6",
        "left_cost": "0",
    }
    assert run["cost"] == "6"
    assert calls.read_text().split() == ["1", "2", "3", "4", "4", "5", "6"]
