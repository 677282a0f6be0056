"""Cases that are run on an app and judged: by their own checks, by those of all, and by one for all together."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from agent_framework import EvalItem, EvalResults, evaluator

from hosting.client.remote_agent import RemoteAgent
from hosting.evaluation.cases import Case, EarlierMessage, Evaluation
from hosting.evaluation.evaluating import Check, evaluate
from tests.support.carriers import APP
from tests.support.running_host import RunningHost


class Service:
    """Judges all answers together, as a service does that has a report for them and none for each."""

    name = "Service"

    def __init__(self) -> None:
        self.answers: list[str] = []

    async def evaluate(self, items: Sequence[EvalItem], *, eval_name: str = "") -> EvalResults:
        self.answers = [item.response for item in items]
        passed = sum(answer.startswith("echo") for answer in self.answers)
        return EvalResults(provider=self.name, result_counts={"passed": passed, "failed": len(items) - passed})


@evaluator
def is_lower(response: str) -> bool:
    return response.islower()


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.command")
async def test_each_answer_is_judged_by_itself_and_all_of_them_together(tmp_path: Path) -> None:
    """A case without an answer is an error, and no evaluator sees it."""
    service = Service()
    cases = tuple(Case(query, query) for query in ("one", "TWO", "say three", "fail"))
    with RunningHost(shutil.copytree(APP, tmp_path / "app")) as host:
        agent = RemoteAgent(host.origin, "Joker")
        result = await evaluate(agent, Evaluation(cases, (is_lower, service)), "judged", parallel=4)

    assert [(case.name, case.passed, bool(case.error)) for case in result.cases] == [
        ("one", True, False),
        ("TWO", False, False),
        ("say three", True, False),
        ("fail", False, True),
    ]
    assert service.answers == ["echo: one", "echo: TWO", "three"]
    assert result.together == (Check("Service", False, "2 of 3 passed"),)
    assert not result.passed


@pytest.mark.slow
@pytest.mark.behaviour("evaluation.files")
async def test_a_case_of_several_messages_is_one_run_after_those_before(tmp_path: Path) -> None:
    before = (EarlierMessage("my name is Ada"), EarlierMessage("Hello, Ada.", "assistant"))
    cases = (Case("recall", "talk", messages=before, expected_output="my name is Ada | recall", exact=True),)
    with RunningHost(shutil.copytree(APP, tmp_path / "app")) as host:
        agent = RemoteAgent(host.origin, "Joker")
        results = [await evaluate(agent, Evaluation(cases), "talks") for _ in range(2)]

    assert [result.passed for result in results] == [True, True], results
    assert results[0].cases[0].answer == results[1].cases[0].answer == "my name is Ada | recall"
