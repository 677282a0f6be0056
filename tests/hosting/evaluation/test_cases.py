"""The files of an evaluation: what they may hold, and the sentence for each that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_framework import EvalItem, ExpectedToolCall, Message

from hosting.evaluation.cases import EvaluationFileError, exact_check, read_evaluation

pytestmark = pytest.mark.behaviour("evaluation.files")
CASE = '{"query": "hi", "keywords": ["hello"]}'


def written(folder: Path, text: str, name: str = "cases.jsonl") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_case_has_its_checks_and_expected_calls(tmp_path: Path) -> None:
    """A call is a name, or a name with arguments; a case without a name is called by its query."""
    calls = '["look", {"name": "find", "arguments": {"city": "Rome"}}]'
    path = written(tmp_path, f'\n{{"query": "hi", "keywords": ["x"], "expected_tool_calls": {calls}}}\n\n')
    (case,) = read_evaluation(path).cases

    assert (case.name, len(case.checks())) == ("hi", 2)
    assert case.calls() == [ExpectedToolCall("look"), ExpectedToolCall("find", {"city": "Rome"})]


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


YAML = """
- query: And in Rome?
  messages:
    - What is the weather in Paris?
    - role: assistant
      message: 18 °C
  keywords: [Rome]
  expected_tool_calls:
    - name: look
      arguments: {city: Rome}
- {query: hi, name: short, expected_output: hello, exact: true}
"""


@pytest.mark.parametrize("name", ["cases.yaml", "cases.yml"])
def test_a_yaml_file_has_a_list_of_the_same_cases(name: str, tmp_path: Path) -> None:
    """With messages before the query: texts of the user, or of the agent. A Python file may name it, too."""
    path = written(tmp_path, YAML, name)
    first, second = read_evaluation(path).cases
    named = read_evaluation(written(tmp_path, f"CASES = {name!r}", "evaluation.py")).cases

    assert [(message.role, message.text) for message in first.asked()] == [
        ("user", "What is the weather in Paris?"),
        ("assistant", "18 °C"),
        ("user", "And in Rome?"),
    ]
    assert first.calls() == [ExpectedToolCall("look", {"city": "Rome"})]
    assert ((second.name, second.exact), named) == (("short", True), (first, second))


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


def test_a_python_file_has_cases_and_evaluators(tmp_path: Path) -> None:
    """With an evaluator of all cases, one that checks nothing by itself is no fault."""
    text = "CASES = [{'query': 'hi'}, {'query': 'ho'}]\nEVALUATORS = [print]"
    evaluation = read_evaluation(written(tmp_path, text, "evaluation.py"))

    assert [case.name for case in evaluation.cases] == ["hi", "ho"]
    assert list(evaluation.evaluators) == [print]


@pytest.mark.parametrize(("answer", "passed"), [("yes", True), (" yes\n", True), ("Yes", False), ("yes, sir", False)])
def test_an_exact_answer_is_the_expected_one_to_the_letter(answer: str, passed: bool) -> None:
    item = EvalItem([Message("user", ["?"]), Message("assistant", [answer])], expected_output="yes")

    assert exact_check(item).passed is passed
