"""A process that was taken for dead: stopped while its runs stand around their records, it goes on after another one
has taken them over and ended them.

Its host keeps an engine of its own, as a worker keeps a message whose visibility has passed; the other starts from a
copy of that. The log is the one thing that both have.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hosting.core.thread.run import Run
from tests.faults.planned_app import PlannedApp, cut_short, points
from tests.support.kept_in import over

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("journal.zombies"),
    over("log_settings", "sqlite", "redis"),
    pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped and continued there"),
]

APPENDS = 1 + 3 + 5 + 1  # a claim, the model's answers with the begin of what they ask for, five results, the end


@dataclass(frozen=True)
class Seen:
    """A run as its log was when the zombie stopped, when the other had ended it, and when the zombie was done."""

    when_stopped: Run
    when_ended: Run
    at_last: Run
    outcome: Mapping[str, Any]
    counted: Counter[str]
    done_late: list[str]


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each run by the point at which the zombie stopped."""
    return asyncio.run(taken_over(PlannedApp(tmp_path_factory.mktemp("zombie"), log_settings)))


async def taken_over(app: PlannedApp) -> dict[str, Seen]:
    """Stop a process, let another end its runs, and let it go on."""
    with app.host(stands=True) as zombie:
        runs = await app.stand(zombie, {"Joker": points(APPENDS)})
        os.kill(zombie.process.pid, signal.SIGSTOP)
        when_stopped = await app.records(runs)
        with app.host(path=Path(shutil.copytree(app.path, app.path.parent / "other"))) as other:
            outcomes = await app.outcomes(other, runs)
        when_ended, so_far = await app.records(runs), len(app.notes())
        app.go_on.touch()
        os.kill(zombie.process.pid, signal.SIGCONT)
        await app.until_applied(zombie, runs)
    at_last, late = await app.records(runs), app.notes()[so_far:]
    return {
        run.point: Seen(
            when_stopped[run],
            when_ended[run],
            at_last[run],
            outcomes[run],
            app.counted(run),
            [note.what for note in late if note.run_id == run.run_id],
        )
        for run in runs
    }


@pytest.mark.parametrize("point", points(APPENDS))
def test_a_zombie_appends_nothing_and_calls_no_tool_that_another_called(seen: dict[str, Seen], point: str) -> None:
    """The run is as the other ended it, and each tool was called at most once by both.

    One that stopped in a call ends with that, whose result the log refuses. One that stopped before a call makes that
    alone, which nothing between the log and a call can hold back: tools are those whose begin it had recorded.
    """
    run = seen[point]
    tools = {what: count for what, count in run.counted.items() if not what.startswith("model")}
    tools_late = [what.partition("-")[2] for what in run.done_late if not what.startswith("model")]
    begun = {step.key for step in cut_short(run.when_stopped)}

    assert run.at_last == run.when_ended
    assert set(tools.values()) <= {1}
    assert set(tools_late) <= begun
    assert len(run.done_late) <= (max(1, len(begun)) if point.startswith("after") else 0)
    if begun:
        assert run.outcome["error"]["code"] == "run_interrupted"
    else:
        assert (run.outcome["response"], len(run.counted)) == ("all done", 9)
