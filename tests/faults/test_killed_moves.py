"""A thread whose older part moves to the archive while its host is killed with SIGKILL, at each point of the move."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.faults.app_process import AppFolder
from tests.support.carriers import Api
from tests.support.kept_in import kept_in

pytestmark = pytest.mark.slow

TURNS = 10
SMALL = {"AGENT_RECENT_BYTES": "2048"}
OWN = Path(__file__).parent / "archive_app" / "function_app.py"
POINTS = [
    *(f"KILL_AT={point}:{nth}" for nth in (1, 2) for point in ("before", "after")),
    *(
        f"DEVHOST_CRASH_AT={point}:{nth}"
        for nth in (5, 6)
        for point in ("after-entity", "before-commit", "inside-commit")
    ),
]


@pytest.mark.behaviour("archive.survives-kill")
@pytest.mark.parametrize(
    ("armed", "stores"), kept_in("sqlite", "tables", first=POINTS[0], rest=POINTS[1:]), indirect=["stores"]
)
async def test_a_kill_around_a_move_loses_and_doubles_no_entry(folder: AppFolder, armed: str) -> None:
    """Ten turns, a kill, a restart, the same ten by their keys: one conversation, each turn once, in order."""
    shutil.copy(OWN, folder.path)
    name, _, point = armed.partition("=")
    await folder.host_killed_by({**SMALL, name: point}, take_stored_turns)

    with folder.host(SMALL) as host:
        api = folder.api(host)
        run_ids = await take_turns(api)
        entries = await whole(api)
        recalled = await api.ask("recall", thread_id="t")
        thread = (await api.http.get("/api/agents/Joker/threads/t")).json()
        await api.http.aclose()

    assert [entry["run_id"] for entry in entries] == [run_id for run_id in run_ids for _ in range(2)]
    assert [entry["position"] for entry in entries] == list(range(1, 2 * TURNS + 1))
    assert [entry["type"] for entry in entries] == ["request", "response"] * TURNS
    assert recalled.json()["response"].split(" | ")[-2].startswith(f"m{TURNS - 1} ")
    assert thread["message_count"] >= 2 * TURNS
    assert thread["size_bytes"] < 6000


async def take_turns(api: Api) -> list[str]:
    """Take ten turns on the thread, each under a key of its own, and return their runs."""
    return [await take_turn(api, number) for number in range(TURNS)]


async def take_stored_turns(api: Api) -> None:
    """Take ten turns, each once the one before it stands in the stored conversation: each may move something."""
    for number in range(TURNS):
        run_id = await take_turn(api, number)
        while run_id not in (await api.state("t") or ""):  # noqa: ASYNC110 - another process stores it
            await asyncio.sleep(0.01)


async def take_turn(api: Api, number: int) -> str:
    """Take one turn under its key, and return its run."""
    body = {"message": f"m{number} ".ljust(120, "."), "thread_id": "t"}
    headers = {"idempotency-key": f"key-{number}"}
    answer = await api.http.post("/api/agents/Joker/run", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["run_id"])


async def whole(api: Api) -> list[dict[str, Any]]:
    """Return every entry of the thread as its readers see it."""
    page = (await api.http.get("/api/agents/Joker/threads/t/messages", params={"limit": 200})).json()
    assert page["has_more"] is False
    return list(page["entries"])
