"""Runs whose process was killed, as their log had them, as they ended, and as the outside counted what they did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hosting.core.thread.events import ModelResult, ToolResult, ToolStarted
from hosting.core.thread.run import Run
from tests.faults.planned_app import PlannedApp


@dataclass(frozen=True)
class KilledRun:
    """A run as its log had it at the kill and at its end, how the next process told that, and what was done in both."""

    at_kill: Run
    at_end: Run
    outcome: Mapping[str, Any]
    counted: Counter[str]

    @property
    def again(self) -> set[str]:
        return {what for what, count in self.counted.items() if count > 1}

    @property
    def tools_again(self) -> set[str]:
        """The keys of the tool calls that were made more than once."""
        return {what.rpartition(" ")[2].partition("-")[2] for what in self.again if "model" not in what}

    @property
    def is_cut_short(self) -> bool:
        """Tell whether a tool was at work that may not be called again; `helper` is an agent, and may."""
        return any(step.name != "helper" for step in cut_short(self.at_kill))

    @property
    def interrupted(self) -> set[str]:
        """The keys of the tool calls of which the next process recorded that nobody knows what came of them."""
        return {step.key for step in self.at_end.steps if isinstance(step, ToolResult) and step.interrupted}

    @property
    def unrecorded_model_calls(self) -> set[str]:
        """The model calls that another attempt has to make again if they were made: the next one of each agent."""
        answers = [step for step in self.at_kill.steps if isinstance(step, ModelResult)]
        inner = sum(1 for answer in answers if answer.within)
        return {f"model {1 + len(answers) - inner}", f"inner model {1 + inner}"}


KilledRuns = dict[tuple[str, str], KilledRun]


async def killed_and_finished(app: PlannedApp, points: Mapping[str, Sequence[str]]) -> KilledRuns:
    """Have a run of each agent stand at each of its points, kill the process, and let another one end them all."""
    with app.host(stands=True) as host:
        runs = await app.stand(host, points)
    at_kill = await app.records(runs)
    with app.host() as host:
        outcomes = await app.outcomes(host, runs)
    at_end = await app.records(runs)
    return {
        (run.agent, run.point): KilledRun(at_kill[run], at_end[run], outcome, app.counted(run))
        for run, outcome in outcomes.items()
    }


def cut_short(record: Run) -> list[ToolStarted]:
    """Return the tool calls that began and have no result."""
    ended = {step.key for step in record.steps if isinstance(step, ToolResult)}
    return [step for step in record.steps if isinstance(step, ToolStarted) and step.key not in ended]
