"""The corpus through the real SDK and a SQLite file, in processes that are killed at every single commit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.devhost.durable.scenarios import SCENARIOS, Scenario
from tests.support.warm_python import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be forked there"),
]


@pytest.fixture(scope="module")
def killed_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Returns what the last process of each run of a scenario found, and whether the one before it was killed.

    One small process forks those of all scenarios: the larger a process is, the more its fork costs.
    """
    command = [sys.executable, "-m", "tests.devhost.durable.killed_scenario", str(tmp_path_factory.mktemp("killed"))]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        @cache
        def found(name: str) -> list[dict[str, Any]]:
            print(name, file=process.stdin, flush=True)
            runs = json.loads(process.stdout.readline())
            assert runs is not None, "a process failed, and has printed why"
            return list(runs)

        yield found
        process.stdin.close()


@pytest.mark.behaviour("engine.restart-at-every-commit")
@pytest.mark.parametrize("scenario", [pytest.param(scenario, id=scenario.name) for scenario in SCENARIOS])
def test_a_scenario_ends_the_same_when_its_process_is_killed_at_any_commit(
    killed_runs: Callable[[str], list[dict[str, Any]]], scenario: Scenario
) -> None:
    """The end, and each request, result and timer once in the history; only the last run was too short to die in."""
    runs = killed_runs(scenario.name)

    assert [run["killed"] for run in runs] == [True] * (len(runs) - 1) + [False]
    assert len(runs) > 1
    for run in runs:
        scenario.check(run["status"], run["output"])
        assert run["twice"] == []


@pytest.mark.behaviour("engine.entity-state-once")
def test_an_entity_counts_each_operation_once_wherever_its_process_is_killed(
    killed_runs: Callable[[str], list[dict[str, Any]]],
) -> None:
    """Signals and calls are messages that one step consumes; a batch that was cut off is run again as a whole."""
    runs = killed_runs("entities")

    states = {"entities": "7", "entities-0": "0", "entities-1": "1", "entities-2": "2"}
    assert [run["entities"] for run in runs] == [states] * len(runs)
