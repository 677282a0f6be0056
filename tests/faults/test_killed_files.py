"""A process that is killed by SIGKILL while a harness agent writes todos and files, or after it did."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.grouped_app import grouped_app
from tests.support.running_host import ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
MODEL_CALLS = 5
ROUTE = "Kilometre by kilometre. " * 100


def app_in(folder: Path, settings: dict[str, str], point: str) -> tuple[dict[str, str], Path, Path]:
    """Make the app in a folder; return its settings, the file that says it stands, and the one that lets it go on."""
    shutil.copy(Path(__file__).parent / "files_app" / "function_app.py", folder)
    shutil.copy(ROOT / "host.json", folder)
    stands, goes_on = folder / "stands.txt", folder / "goes_on"
    stands.touch()
    places = {"STANDS": str(stands), "GOES_ON": str(goes_on), "MODEL": str(folder / "model.txt")}
    return {**settings, **places, "POINT": point}, stands, goes_on


@pytest.mark.behaviour("files.through-a-kill")
@pytest.mark.parametrize("point", ["write", "recorded"])
async def test_a_killed_run_has_its_todos_and_files_once_in_the_next_process(
    point: str, tmp_path: Path, log_settings: dict[str, str]
) -> None:
    """Killed in a write, that is made again; killed behind it, nothing is. A file edited before is edited once."""
    environ, stands, goes_on = app_in(tmp_path, log_settings, point)
    model = tmp_path / "model.txt"
    with grouped_app(tmp_path, log=environ) as app:
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


def call(tool: str, **arguments: Any) -> str:
    """Return the message that has the offline model call a tool."""
    return f"Call file_access_{tool} with {json.dumps(arguments)}"


@pytest.mark.behaviour("files.of-owners")
async def test_a_killed_run_creates_a_file_of_all_threads_once(tmp_path: Path, log_settings: dict[str, str]) -> None:
    """Its call is made again and finds the file that it made, which another run has changed since and all see."""
    environ, stands, goes_on = app_in(tmp_path, log_settings, "shared")
    with grouped_app(tmp_path, log=environ) as app:
        one, two = app.http
        async with httpx.AsyncClient(base_url=f"{two.origin}/api/agents/Keeper/", timeout=GUARD_SECONDS) as http:
            body = {"message": call("write", file_name="a.md", content="first"), "thread_id": "killed"}
            begun = asyncio.ensure_future(http.post(f"{one.origin}/api/agents/Keeper/run", json=body))
            while not stands.read_text():  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)
            one.kill()
            await asyncio.gather(begun, return_exceptions=True)
            goes_on.touch()
            edit = call("replace", file_name="a.md", old_string="first", new_string="second")
            edited = (await http.post("run", json={"message": edit, "thread_id": "other"})).json()
            while (run := (await http.get("threads/killed/runs")).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            answer = (await http.get(f"threads/killed/runs/{run['run_id']}")).json()
            read = (await http.post("run", json={"message": call("read", file_name="a.md"), "thread_id": "u"})).json()

    assert (run["status"], run["attempts"]) == ("success", 2), run
    assert answer["response"] == "The tool says: File 'a.md' written."
    assert edited["response"] == "The tool says: Replaced 1 occurrence(s) in 'a.md'."
    assert read["response"] == "The tool says: second"
    assert not (tmp_path / "deployed").exists()
