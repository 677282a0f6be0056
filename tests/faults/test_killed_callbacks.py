"""A response callback when its host is killed with SIGKILL at any point: it is called, and nobody has to look."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from tests.faults.app_process import AppFolder
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import KINDS, kept_in
from tests.support.whole_lines import whole_lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("callbacks.at-least-once"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "callback_app" / "function_app.py"
POINTS = [
    *(f"{when}-entity:{nth}" for nth in (1, 2) for when in ("before", "after") if (when, nth) != ("after", 1)),
    *(f"{when}-commit:{nth}" for nth in (2, 3) for when in ("before", "inside", "after")),
]
"""Around the run and around its notice; the first commit takes the request's signal in."""


class CallbackFolder:
    """A copy of the app, and the lines that its callback wrote."""

    def __init__(self, folder: AppFolder) -> None:
        shutil.copy(APP, folder.path)
        self.app = folder
        self.file = folder.path.parent / "calls.txt"
        self.environ = {"CALLS": str(self.file)}

    def lines(self) -> list[str]:
        """Return what was written, in all processes."""
        return whole_lines(self.file)

    async def until_called(self, times: int) -> list[str]:
        """Return the lines once there are so many, under the guard."""
        return await asyncio.wait_for(self._until_called(times), 2 * GUARD_SECONDS)

    async def _until_called(self, times: int) -> list[str]:
        while len(self.lines()) < times:  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)
        return self.lines()


@pytest.fixture
def callbacks(folder: AppFolder) -> CallbackFolder:
    """A fresh copy of the app with a callback."""
    return CallbackFolder(folder)


async def ask(api: Api) -> None:
    """Ask, and do not wait."""
    await api.ask("say hello", thread_id="t", wait_for_response=False)


@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first="after-entity:1", rest=POINTS), indirect=["stores"])
async def test_a_kill_at_a_point_of_the_engine_keeps_no_answer_from_its_callback(
    callbacks: CallbackFolder, point: str
) -> None:
    """After the restart nobody asks for the run, and its answer is told; more than once at most by the kill."""
    await callbacks.app.host_killed_by({**callbacks.environ, "DEVHOST_CRASH_AT": point}, ask)

    with callbacks.app.host(callbacks.environ):
        lines = await callbacks.until_called(1)

    assert {line.partition(" ")[2] for line in lines} == {"hello"}
    assert len(set(lines)) == 1
    assert len(lines) <= 2


@pytest.mark.parametrize(("when", "times"), [("before", 1), ("after", 2)])
async def test_a_callback_that_dies_with_its_process_is_called_again(
    callbacks: CallbackFolder, when: str, times: int
) -> None:
    """With the same run id, by which it tells the repeat."""
    await callbacks.app.host_killed_by({**callbacks.environ, "KILL_AT": when}, ask)

    with callbacks.app.host(callbacks.environ):
        lines = await callbacks.until_called(times)

    assert len(lines) == times
    assert len(set(lines)) == 1


async def test_the_end_of_a_run_that_kills_its_process_three_times_is_told(callbacks: CallbackFolder) -> None:
    """As a failure, by the fourth process, which nobody asks."""
    for _ in range(3):
        await callbacks.app.host_killed_by(
            callbacks.environ, ask_to_exit if not callbacks.app.model_calls("exit 0") else nothing
        )

    with callbacks.app.host(callbacks.environ):
        lines = await callbacks.until_called(1)

    assert lines[0].endswith(" run_crashed")


async def ask_to_exit(api: Api) -> None:
    """Ask for the end of the process."""
    await api.ask("exit 0", thread_id="t", wait_for_response=False)


async def nothing(api: Api) -> None:
    """Ask for nothing: the run is delivered again."""
