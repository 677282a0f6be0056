"""The step journal under SIGKILL: a real host killed around each record of a run, and what the outside counted."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.devhost.running_host import RunningHost
from tests.faults.app_process import until_dead
from tests.hosting import planned
from tests.hosting.carriers import GUARD_SECONDS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "journal_app"
RUN = {"message": "go", "thread_id": "t", "wait_for_response": False}
THREAD = "/api/agents/Joker/threads/t"
# Behind `accepted`: a claim, begin and end of five tool calls, with the model's answers that asked for them, the end.
APPENDS = 1 + 2 * 5 + 1


class PlannedApp:
    """A copy of the app, and what its model and tools told the outside."""

    def __init__(self, folder: Path) -> None:
        self.path = shutil.copytree(APP, folder / "app")
        shutil.copy(planned.__file__, self.path / "planned.py")
        self._notes = folder / "notes.txt"
        self._notes.touch()

    async def killed(self, number: int, when: str, **environ: str) -> None:
        """Start a run in a host that dies at its n-th append, perhaps before it has answered."""
        with self._host(KILL_AT=str(number), KILL_WHEN=when, **environ) as host:
            async with httpx.AsyncClient(base_url=host.origin) as http:
                with contextlib.suppress(httpx.TransportError):
                    await http.post("/api/agents/Joker/run", json=RUN)
            assert await until_dead(host) != 0

    async def outcome(self, **environ: str) -> dict[str, object]:
        """Return the run's outcome from a host that goes on where the killed one was."""
        with self._host(**environ) as host:
            async with httpx.AsyncClient(base_url=host.origin) as http:
                return await asyncio.wait_for(_ended(http), 2 * GUARD_SECONDS)

    def counted(self) -> Counter[str]:
        """Return how often each model call and each tool call, by its key, was made in all processes."""
        return Counter(self._notes.read_text(encoding="utf-8").splitlines())

    def _host(self, **environ: str) -> RunningHost:
        return RunningHost(self.path, environ={"NOTES": str(self._notes), **environ})


async def _ended(http: httpx.AsyncClient) -> dict[str, object]:
    (run,) = (await http.get(f"{THREAD}/runs")).json()["runs"]
    while (answer := await http.get(f"{THREAD}/runs/{run['run_id']}")).status_code == 202:  # noqa: ASYNC110 - another process ends it
        await asyncio.sleep(0.01)
    return dict(answer.json())


@pytest.mark.behaviour("journal.nothing-twice")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, APPENDS + 1))
async def test_a_host_killed_around_a_record_does_nothing_recorded_again(
    tmp_path: Path, number: int, when: str
) -> None:
    """No tool twice; a model call twice only if it was cut off before its record."""
    app = PlannedApp(tmp_path)
    await app.killed(number, when)

    outcome = await app.outcome()

    counted = app.counted()
    again = [what for what, count in counted.items() if count > 1]
    assert [what for what in again if not what.startswith("model")] == []
    assert len(again) <= (1 if when == "before" else 0)
    if outcome["status"] == "success":
        assert (outcome["response"], len(counted)) == ("all done", 9)
    else:
        assert outcome["error"]["code"] == "run_interrupted"  # type: ignore[index]


@pytest.mark.behaviour("journal.idempotent-tools")
@pytest.mark.parametrize("number", [2, 4, 7, 11])
async def test_a_killed_host_calls_tools_again_that_do_no_harm(tmp_path: Path, number: int) -> None:
    """And the run completes."""
    app = PlannedApp(tmp_path)
    await app.killed(number, "after", HARMLESS="1")

    outcome = await app.outcome(HARMLESS="1")

    assert (outcome["status"], len(app.counted())) == ("success", 9)
