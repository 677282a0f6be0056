"""The overview of all threads when the process that brings it up to date is killed (architecture.md)."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from tests.faults.app_process import AppFolder
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("overview.exact"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "keyed_app" / "function_app.py"
AGENT = "/api/agents/Joker"


async def counted(api: Api) -> int:
    """Return how many runs the figures count."""
    days = (await api.http.get(f"{AGENT}/figures")).raise_for_status().json()["days"]
    return sum(day["runs"] for day in days)


async def until_counted(api: Api, runs: int) -> int:
    """Return how many runs are counted once they are as many, or at the end of the guard: entities commit behind."""
    end = asyncio.get_running_loop().time() + GUARD_SECONDS
    while (found := await counted(api)) < runs and asyncio.get_running_loop().time() < end:
        pass
    return found


@pytest.mark.parametrize(
    ("point", "stores"),
    kept_in(*KINDS, first="after append", rest=["before append"]),
    indirect=["stores"],
)
async def test_a_process_that_dies_while_it_counts_loses_no_run_and_counts_none_twice(
    folder: AppFolder, point: str, stores: dict[str, str]
) -> None:
    """Before or after what it found was written; whoever looks next finds all runs, and those after them."""
    shutil.copy(APP, folder.path)
    with folder.host() as host:
        api = folder.api(host)
        for number in range(3):
            await api.ask("hi", thread_id=f"t{number % 2}")
        await api.entries("t0", turns=2)
        await api.entries("t1")
        await api.http.aclose()

    await folder.host_killed_by({"KILL_AT": point}, counted)

    with folder.host() as host:
        api = folder.api(host)
        after_death = await until_counted(api, 3)
        await api.ask("hi", thread_id="t0")
        after_more = await until_counted(api, 4)
        await api.http.aclose()

    assert (after_death, after_more) == (3, 4)
