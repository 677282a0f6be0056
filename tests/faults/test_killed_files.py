"""A process that is killed by SIGKILL while a harness agent writes todos and files, or after it did."""

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
MODEL_CALLS = 5
ROUTE = "Kilometre by kilometre. " * 100


@pytest.mark.behaviour("files.through-a-kill")
@pytest.mark.parametrize("point", ["write", "recorded"])
async def test_a_killed_run_has_its_todos_and_files_once_in_the_next_process(
    point: str, tmp_path: Path, log_settings: dict[str, str]
) -> None:
    """Killed in a write, that is made again; killed behind it, nothing is. A file edited before is edited once."""
    shutil.copy(Path(__file__).parent / "files_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    stands, goes_on, model = (tmp_path / name for name in ("stands.txt", "goes_on", "model.txt"))
    stands.touch()
    places = {"STANDS": str(stands), "GOES_ON": str(goes_on), "MODEL": str(model)}
    with grouped_app(tmp_path, log={**log_settings, **places, "POINT": point}) as app:
        one, two = app.http
        async with httpx.AsyncClient(base_url=f"{two.origin}/api/agents/Planner/", timeout=GUARD_SECONDS) as http:
            body = {"message": point, "thread_id": point}
            begun = asyncio.ensure_future(http.post(f"{one.origin}/api/agents/Planner/run", json=body))
            while not stands.read_text():  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)
            one.kill()
            await asyncio.gather(begun, return_exceptions=True)
            goes_on.touch()
            while (run := (await http.get(f"threads/{point}/runs")).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            read = (await http.post("run", json={"message": "read", "thread_id": point})).json()

    assert (run["status"], run["attempts"]) == ("success", 2), run
    todos, plan, hotel = read["response"].split("\n")
    assert todos.count("Book the train") == 1
    assert plan == f"{ROUTE}Paris, Paris"
    assert hotel == "Near the station"
    called = [line for line in model.read_text().splitlines() if line.startswith(point)]
    assert len(called) == (MODEL_CALLS if point == "write" else MODEL_CALLS + 1)
    assert not list(tmp_path.rglob("agent-file-memory"))
