"""samples/evaluate: what its page shows, and that a hosted agent is judged as the plain one."""

from __future__ import annotations

import runpy
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import EvalResults, LocalEvaluator, evaluate_agent, keyword_check, tool_call_args_match

from hosting.client.remote_agent import RemoteAgent
from hosting.commands.evaluate import main
from hosting.evaluation.cases import Case, read_evaluation
from tests.samples.folders import ROOT, SAMPLES, copy_app, page_of
from tests.support.console_blocks import is_shown, steps_in
from tests.support.pages import code, page
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


@pytest.mark.behaviour("evaluation.command")
def test_each_command_of_the_page_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a host that the command starts, in a folder with copies of the samples."""
    copy_app("evaluate", tmp_path / "samples")
    copy_app("single_agent", tmp_path / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for step in steps_in(page_of("evaluate")):
        _, _, command, *arguments = shlex.split(step.command)

        assert command == "evaluate"
        assert main(arguments) == 0
        printed = tuple(capsys.readouterr().out.splitlines())
        assert is_shown(step.output, printed), "\n".join(printed)


@pytest.mark.behaviour("evaluation.remote-agent")
def test_the_program_of_the_guide_prints_what_passed(origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = code(page("docs/guides/evaluation.md"), "python")
    running = threading.Thread(target=exec, args=(program.replace("http://localhost:7071", origin), {}))
    running.start()
    running.join()

    assert capsys.readouterr().out == "2 of 2\n"
