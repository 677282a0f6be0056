"""A process that is killed by SIGKILL right after a run remembered something, before the log of its thread has that."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import httpx
import pytest

from tests.support.grouped_app import grouped_app
from tests.support.running_host import ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
TEA = "Drinks tea without milk."


@pytest.mark.behaviour("memory.once")
async def test_a_killed_run_remembers_once_and_is_given_the_same_as_before(tmp_path: Path) -> None:
    """The call that was cut short is made again and finds its fact, which is given to the next run too."""
    shutil.copy(Path(__file__).parent / "memory_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    remembered, goes_on = tmp_path / "remembered.txt", tmp_path / "goes_on"
    environ = {
        "AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}",
        "REMEMBERED": str(remembered),
        "GOES_ON": str(goes_on),
    }
    with grouped_app(tmp_path, log=environ) as app:
        one, two = app.http
        agent = f"{two.origin}/api/agents/Clerk"
        async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
            body = {"message": f"remember {TEA}", "thread_id": "t"}
            begun = asyncio.ensure_future(http.post(f"{one.origin}/api/agents/Clerk/run", json=body))
            while not remembered.exists():  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)
            one.kill()
            await asyncio.gather(begun, return_exceptions=True)
            goes_on.touch()
            while (run := (await http.get(f"{agent}/threads/t/runs")).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            outcome = (await http.get(f"{agent}/threads/t/runs/{run['run_id']}")).json()
            facts = (await http.get(f"{agent}/memory")).json()["facts"]
            later = (await http.post(f"{agent}/run", json={"message": "hello", "thread_id": "u"})).json()

    [fact] = facts
    assert (run["status"], run["attempts"]) == ("success", 2), (run, outcome)
    assert outcome["response"] == f"told: Remembered as {fact['fact_id']}."
    assert remembered.read_text().split() == [fact["fact_id"]] * 2
    assert f"- {TEA} (id {fact['fact_id']})" in later["response"]
