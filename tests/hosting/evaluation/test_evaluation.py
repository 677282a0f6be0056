"""Evaluations: their files, cases that are run and judged, the reports, and `python dev.py evaluate` with its app."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest
from agent_framework import EvalItem, EvalResults, ExpectedToolCall, Message, evaluator

from devhost import __name__ as DEVHOST
from hosting.client.remote_agent import RemoteAgent
from hosting.commands.evaluate import main
from hosting.evaluation.cases import Case, EarlierMessage, Evaluation, EvaluationFileError, exact_check, read_evaluation
from hosting.evaluation.evaluating import CaseResult, Check, EvaluationResult, evaluate
from hosting.evaluation.reports import junit, table
from hosting.testing.local_app import LocalApp
from tests.support.app_folder import make_app
from tests.support.carriers import APP
from tests.support.running_host import START_GUARD_SECONDS, RunningHost
from tests.support.warm_python import ROOT

CASE = '{"query": "hi", "keywords": ["hello"]}'


def written(folder: Path, text: str, name: str = "cases.jsonl") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.behaviour("evaluation.files")
def test_a_case_has_its_checks_and_expected_calls(tmp_path: Path) -> None:
    """A call is a name, or a name with arguments; a case without a name is called by its query."""
    calls = '["look", {"name": "find", "arguments": {"city": "Rome"}}]'
    path = written(tmp_path, f'\n{{"query": "hi", "keywords": ["x"], "expected_tool_calls": {calls}}}\n\n')
    (case,) = read_evaluation(path).cases

    assert (case.name, len(case.checks())) == ("hi", 2)
    assert case.calls() == [ExpectedToolCall("look"), ExpectedToolCall("find", {"city": "Rome"})]


@pytest.mark.behaviour("evaluation.files")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no case"),
        ("{", "line 1 is not JSON"),
        (f"{CASE}\n[]", "line 2 is no object"),
        ('{"keywords": ["x"]}', "query"),
        ('{"query": " ", "keywords": ["x"]}', "`query` is blank, or one of `messages`"),
        ('{"query": "hi"}', "checks nothing"),
        ('{"query": "hi", "keywords": ["x"], "keyword": ["y"]}', "unknown field `keyword`"),
        ('{"query": "hi", "exact": true}', "`exact` needs `expected_output`"),
        (f"{CASE}\n{CASE}", "line 2: another case is called 'hi'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(text: str, sentence: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(EvaluationFileError) as raised:
        read_evaluation(path)

    assert str(raised.value).startswith(str(path))
    assert sentence in str(raised.value)


@pytest.mark.behaviour("evaluation.files")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", " has no case. Give one, as"),
        ("query: hi", " is no list. Give a list of cases, as\n- query: "),
        ("- query: hi\n  keywords: [x", ", line 2 is not YAML."),
        ("- query: 2026-02-31", " is not YAML."),
        ("- !!python/object:os.system {}", ", line 1 is not YAML."),
        ("- hi", ", case 1 is no object."),
        ("- {query: hi, keywords: [x], messages: [' ']}", ", case 1: `query` is blank, or one of `messages`."),
        (
            "- {query: hi, keywords: [x], messages: [{role: system, message: x}]}",
            ", case 1: Invalid enum value",
        ),
    ],
)
def test_a_yaml_file_that_cannot_be_used_is_refused_with_the_place(text: str, sentence: str, tmp_path: Path) -> None:
    path = written(tmp_path, text, "cases.yaml")
    with pytest.raises(EvaluationFileError) as raised:
        read_evaluation(path)

    assert str(raised.value).startswith(f"{path}{sentence}")


@pytest.mark.behaviour("evaluation.files")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("CASES = 3", "has no CASES"),
        ("CASES = []", "has no case"),
        ("CASES = [{'query': 'hi'}]", "case 1 checks nothing"),
        ("CASES = 'cases.jsonl'\nEVALUATORS = print", "EVALUATORS is a builtin_function_or_method"),
        ("1 / 0", "does not run: ZeroDivisionError"),
    ],
)
def test_a_python_file_that_cannot_be_used_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    written(tmp_path, CASE)
    with pytest.raises(EvaluationFileError, match=sentence):
        read_evaluation(written(tmp_path, text, "evaluation.py"))


@pytest.mark.behaviour("evaluation.files")
def test_a_python_file_has_cases_and_evaluators(tmp_path: Path) -> None:
    """With an evaluator of all cases, one that checks nothing by itself is no fault."""
    text = "CASES = [{'query': 'hi'}, {'query': 'ho'}]\nEVALUATORS = [print]"
    evaluation = read_evaluation(written(tmp_path, text, "evaluation.py"))

    assert [case.name for case in evaluation.cases] == ["hi", "ho"]
    assert list(evaluation.evaluators) == [print]


@pytest.mark.behaviour("evaluation.files")
@pytest.mark.parametrize(("answer", "passed"), [("yes", True), (" yes\n", True), ("Yes", False), ("yes, sir", False)])
def test_an_exact_answer_is_the_expected_one_to_the_letter(answer: str, passed: bool) -> None:
    item = EvalItem([Message("user", ["?"]), Message("assistant", [answer])], expected_output="yes")

    assert exact_check(item).passed is passed


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


RESULT = EvaluationResult(
    "guide",
    (
        CaseResult("good", "t1", (Check("keyword_check", True),), "yes", tokens=3, seconds=0.5),
        CaseResult("bad\x07", "t2", (Check("a", True), Check("b", False, "no <b>")), "n\x00o\nno", tokens=4),
        CaseResult("none", "t3", error="There is no agent."),
    ),
    (Check("Service", False, "1 of 2 passed"),),
)


@pytest.mark.behaviour("evaluation.command")
def test_the_table_has_a_row_for_each_case_and_says_what_did_not_pass() -> None:
    assert list(table(RESULT)) == [
        "case       result  checks  tokens",
        "good       passed     1/1       3",
        "bad\\u0007  FAILED     1/2       4",
        "  b: no <b>",
        "  answer: n\\u0000o\\nno",
        "  thread: t2",
        "none       ERROR      0/0       0",
        "  error: There is no agent.",
        "  thread: t3",
        "Service: FAILED, 1 of 2 passed",
        "1 of 3 passed, 7 tokens",
    ]


@pytest.mark.behaviour("evaluation.command")
def test_the_junit_file_has_a_test_case_for_each_row() -> None:
    (suite,) = ElementTree.fromstring(junit(RESULT))

    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "time")} == {
        "tests": "4",
        "failures": "2",
        "errors": "1",
        "time": "0.500",
    }
    assert [(case.get("name"), [element.tag for element in case]) for case in suite] == [
        ("good", []),
        ("bad\\u0007", ["failure"]),
        ("none", ["error"]),
        ("Service", ["failure"]),
    ]
    assert suite[1][0].get("message") == "b: no <b>"


ECHOED = '{"query": "hi", "keywords": ["echo"]}'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One case; the apps that a command starts find the product."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "cases.jsonl"
    path.write_text(ECHOED, encoding="utf-8")
    return path


@pytest.mark.behaviour("evaluation.command")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no.jsonl"], "cannot be read"),
        (["{file}", "--app", "{folder}"], "has no host.json. Name the app's folder."),
        (["{file}", "--url", "localhost"], "must begin with http:// or https://"),
        (["{file}", "--url", "http://127.0.0.1:9"], "cannot be reached at http://127.0.0.1:9"),
        (["{file}", "--url", "http://127.0.0.1:9", "--key", "a b"], "--key has spaces"),
    ],
)
def test_what_cannot_begin_is_a_sentence_and_the_exit_code_1(
    arguments: list[str], sentence: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([argument.format(file=file, folder=file.parent) for argument in arguments])

    assert code == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.behaviour("evaluation.command")
@pytest.mark.parametrize("option", ["--repetitions=0", "--parallel=65", "--repetitions=x"])
def test_a_number_out_of_its_range_is_refused(option: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(file), option])

    assert "is not a number from 1 to" in capsys.readouterr().err


@pytest.mark.behaviour("evaluation.command")
@pytest.mark.slow
def test_an_app_that_does_not_start_is_shown_with_its_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_app(file.parent, "raise ValueError('no such model')\n")

    assert main([str(file), "--app", str(folder)]) == 1
    printed = capsys.readouterr().err
    assert "no such model" in printed
    assert "does not start. The lines above say why." in printed


@pytest.mark.behaviour("evaluation.command")
@pytest.mark.slow
def test_without_the_local_host_the_package_to_install_is_named(file: Path) -> None:
    """A process that has the library alone, as a deployed app has it."""
    make_app(file.parent, "")
    program = f"import sys; sys.modules[{DEVHOST!r}] = None; from {main.__module__} import main; main([{str(file)!r}])"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=file.parent, capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.stderr.endswith("Install functions-local-host, or name a running app.\n")


@pytest.mark.behaviour("evaluation.command")
@pytest.mark.slow
def test_a_started_app_that_is_killed_is_back_on_its_port_and_gone_at_the_end(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So runs that wait for it go on, and no process is left."""
    app = LocalApp(shutil.copytree(APP, file.parent / "app"))
    with app as address:
        first = app._process
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert answers(address, START_GUARD_SECONDS)
        last = app._process

    assert last is not None
    assert last.pid != first.pid
    assert last.poll() is not None


def answers(address: str, seconds: float) -> bool:
    """Return whether the app answers within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return httpx.get(f"{address}/api/health", trust_env=False).status_code == 200
        except httpx.TransportError:
            time.sleep(0.05)
    return False
