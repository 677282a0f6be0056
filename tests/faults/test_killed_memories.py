"""A process that is killed by SIGKILL right after a run remembered something, before the log of its thread has that."""

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
TEA = "Drinks tea without milk."


@pytest.mark.behaviour("memory.once")
async def test_a_killed_run_remembers_and_forgets_once_and_is_given_the_same_as_before(tmp_path: Path) -> None:
    """The call that was cut short is made again and finds what it did, which the next run is given too.

    What two processes remember at once is all there, too.
    """
    shutil.copy(Path(__file__).parent / "memory_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    done, goes_on = tmp_path / "remembered.txt", tmp_path / "goes_on"
    environ = {
        "AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}",
        "REMEMBERED": str(done),
        "GOES_ON": str(goes_on),
    }
    with grouped_app(tmp_path, log=environ) as app:
        one, two = app.http
        async with httpx.AsyncClient(base_url=f"{two.origin}/api/agents/Clerk/", timeout=GUARD_SECONDS) as http:

            async def killed_in(message: str) -> dict[str, Any]:
                """Return how a run ended whose process was killed behind its call of the store."""
                done.write_text("")
                goes_on.unlink(missing_ok=True)
                thread_id = new_id()
                body = {"message": message, "thread_id": thread_id}
                begun = asyncio.ensure_future(http.post(f"{one.origin}/api/agents/Clerk/run", json=body))
                while not done.read_text():  # noqa: ASYNC110 - another process writes
                    await asyncio.sleep(0.05)
                one.kill()
                await asyncio.gather(begun, return_exceptions=True)
                goes_on.touch()
                while (run := (await http.get(f"threads/{thread_id}/runs")).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                assert (run["status"], run["attempts"]) == ("success", 2), run
                return dict((await http.get(f"threads/{thread_id}/runs/{run['run_id']}")).json())

            remembered = await killed_in(f"remember {TEA}")
            calls = done.read_text().splitlines()
            facts = (await http.get("memory")).json()["facts"]
            later = (await http.post("run", json={"message": "hello", "thread_id": "u"})).json()
            one.start()
            forgotten = await killed_in(f"forget {facts[0]['fact_id']}")
            forgot = done.read_text().splitlines()
            left = (await http.get("memory")).json()["facts"]

            one.start()
            told = {f"Fact {number}." for number in range(12)}
            at_once = (
                http.post(f"{host.origin}/api/agents/Clerk/run", json={"message": f"remember {fact}"})
                for host, fact in zip(app.http * 6, told, strict=True)
            )
            taken = [answer.status_code for answer in await asyncio.gather(*at_once)]
            together = (await http.get("memory")).json()["facts"]

    [fact] = facts
    assert remembered["response"] == f"told: Remembered as {fact['fact_id']}."
    assert calls == [f"remember {fact['fact_id']}"] * 2
    assert f"- {TEA} (id {fact['fact_id']})" in later["response"]
    assert (forgot, left) == (["forget True", "forget False"], [])
    assert forgotten["response"] == f"told: No fact has the id '{fact['fact_id']}'."
    assert (taken, sorted(fact["text"] for fact in together)) == ([200] * 12, sorted(told))
