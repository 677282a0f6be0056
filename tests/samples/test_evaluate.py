"""samples/evaluate: what its page shows, and that a hosted agent is judged as the plain one."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import EvalResults, LocalEvaluator, evaluate_agent, keyword_check, tool_call_args_match

from hosting.client.remote_agent import RemoteAgent
from hosting.evaluation.cases import Case, read_evaluation
from tests.samples.folders import SAMPLES, copy_app
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow
CASES = read_evaluation(SAMPLES / "evaluate" / "cases.jsonl").cases


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app of the sample single_agent on a host."""
    with RunningHost(copy_app("single_agent", tmp_path_factory.mktemp("evaluated"))) as host:
        yield host.origin


async def judged(agent: Any, case: Case) -> EvalResults:
    """Return what agent-framework says of an agent's answer to a case."""
    (result,) = await evaluate_agent(
        agent=agent,
        queries=[case.query],
        expected_tool_calls=[case.calls()],
        evaluators=LocalEvaluator(keyword_check(*case.keywords), tool_call_args_match),
    )
    return result


def shown(result: EvalResults) -> list[Any]:
    """Return the parts of a result that do not name the agent."""
    return [result.result_counts, result.per_evaluator, [vars(item) for item in result.items]]


@pytest.mark.behaviour("evaluation.as-plain")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_hosted_agent_gets_the_result_of_the_plain_one(case: Case, origin: str) -> None:
    """Each case is judged by the same code: texts, scores and reasons are the same."""
    plain = runpy.run_path(str(SAMPLES / "single_agent" / "function_app.py"))["guide"]
    expected = await judged(plain, case)
    result = await judged(RemoteAgent(origin, "guide"), case)

    assert shown(result) == shown(expected)
    assert expected.all_passed
