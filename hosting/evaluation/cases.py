"""What an evaluation asks and expects: cases of a file of JSON Lines or YAML, or of Python with its own evaluators."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agent_framework import CheckResult, EvalItem, ExpectedToolCall, Message, keyword_check, tool_call_args_match
from msgspec import Struct, ValidationError, convert, field

_EXAMPLE = '{"query": "What is the weather in Paris?", "keywords": ["18 °C"]}'
_YAML_EXAMPLE = '- query: What is the weather in Paris?\n  keywords: ["18 °C"]'


class EvaluationFileError(Exception):
    """The file of an evaluation that cannot be used, as a sentence with the place in it."""


class ExpectedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that the agent has to make; without `arguments`, any call of the tool."""

    name: str
    arguments: dict[str, Any] | None = None


class EarlierMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """A message that stands in the thread before the query."""

    message: str
    role: Literal["user", "assistant"] = "user"


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """A message to the agent, those before it (a text is the user's), and what a good answer has.

    The answer has all `keywords`, in whichever letter case, and the agent made all `expected_tool_calls`. With `exact`,
    the answer is `expected_output`; without it, that is for evaluators that compare.
    """

    query: str
    name: str = ""
    keywords: tuple[str, ...] = ()
    expected_tool_calls: tuple[ExpectedCall | str, ...] = ()
    expected_output: str | None = None
    exact: bool = False
    messages: tuple[EarlierMessage | str, ...] = ()

    def asked(self) -> list[Message]:
        """Return the messages of the run, oldest first."""
        texts = [EarlierMessage(message) if isinstance(message, str) else message for message in self.messages]
        return [*(Message(text.role, [text.message]) for text in texts), Message("user", [self.query])]

    def calls(self) -> list[ExpectedToolCall]:
        """Return the expected calls as agent-framework has them."""
        calls = [ExpectedCall(call) if isinstance(call, str) else call for call in self.expected_tool_calls]
        return [ExpectedToolCall(call.name, call.arguments) for call in calls]

    def checks(self) -> list[Any]:
        """Return the checks of agent-framework that the case asks for."""
        return [
            *([keyword_check(*self.keywords)] if self.keywords else ()),
            *([tool_call_args_match] if self.expected_tool_calls else ()),
            *([exact_check] if self.exact else ()),
        ]


class Evaluation(Struct, frozen=True):
    """The cases, each with a name of its own, and the evaluators that look at all of them."""

    cases: tuple[Case, ...]
    evaluators: Sequence[Any] = field(default_factory=tuple)


def exact_check(item: EvalItem) -> CheckResult:
    """Return whether the answer is the expected output, but for white space around it."""
    passed = item.response.strip() == (item.expected_output or "").strip()
    reason = "The answer is the expected output." if passed else f"Expected the answer {item.expected_output!r}"
    return CheckResult(passed=passed, reason=reason, check_name="exact_check")


def read_evaluation(path: Path) -> Evaluation:
    """Return the evaluation of a file `*.jsonl`, `*.yaml` or `*.py`; raise `EvaluationFileError`.

    A Python file is run. It has `CASES`, a list of cases or the path of another file beside it, and may have
    `EVALUATORS`, a list of agent-framework's evaluators and checks.
    """
    if path.suffix != ".py":
        return _checked(path, _read_cases(path), ())
    try:
        names = runpy.run_path(str(path))
    except Exception as error:  # the user's own code
        raise EvaluationFileError(f"{path} does not run: {type(error).__name__}: {error}") from error
    cases, evaluators = names.get("CASES"), names.get("EVALUATORS", ())
    if isinstance(cases, str):
        cases = _read_cases(path.parent / cases)
    elif isinstance(cases, list):
        cases = _numbered(path, cases)
    else:
        raise EvaluationFileError(f"{path} has no CASES. Give a list of cases, or the path of a file with them.")
    if not isinstance(evaluators, list | tuple):
        raise EvaluationFileError(f"{path}: EVALUATORS is a {type(evaluators).__name__}. Give a list.")
    return _checked(path, cases, evaluators)


def _read_cases(path: Path) -> Iterable[tuple[str, Any]]:
    """Return each case of a file with its place."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise EvaluationFileError(f"{path} cannot be read: {reason}.") from None
    return _read_yaml(path, text) if path.suffix in (".yaml", ".yml") else _read_lines(path, text)


def _numbered(path: Path, cases: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    return [(f"{path}, case {number}", case) for number, case in enumerate(cases, 1)]


def _read_yaml(path: Path, text: str) -> Iterable[tuple[str, Any]]:
    """Return each case of a YAML file with its place."""
    import yaml  # type: ignore[import-untyped]

    try:
        cases = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a value error is of a date that there is not
        mark = getattr(error, "problem_mark", None)
        place = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
        raise EvaluationFileError(f"{place} is not YAML. Give a list of cases, as\n{_YAML_EXAMPLE}") from None
    if not isinstance(cases, list | None):
        raise EvaluationFileError(f"{path} is no list. Give a list of cases, as\n{_YAML_EXAMPLE}")
    return _numbered(path, cases or [])


def _read_lines(path: Path, text: str) -> Iterable[tuple[str, Any]]:
    """Yield each case of a JSON Lines file with its place."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            yield place, json.loads(line)
        except ValueError:
            raise EvaluationFileError(f"{place} is not JSON. Give a case on each line, as {_EXAMPLE}") from None


def _checked(path: Path, cases: Iterable[tuple[str, Any]], evaluators: Sequence[Any]) -> Evaluation:
    """Return the evaluation, with a name for each case; raise `EvaluationFileError` for a wrong case, or none."""
    checked: dict[str, Case] = {}
    for place, fields in cases:
        case = _case(place, fields, has_evaluators=bool(evaluators))
        name = case.name or case.query
        if name in checked:
            raise EvaluationFileError(f"{place}: another case is called {name[:80]!r}. Give it a `name` of its own.")
        checked[name] = Case(**{**{part: getattr(case, part) for part in case.__struct_fields__}, "name": name})
    if not checked:
        raise EvaluationFileError(f"{path} has no case. Give one, as {_EXAMPLE}")
    return Evaluation(tuple(checked.values()), tuple(evaluators))


def _case(place: str, fields: Any, *, has_evaluators: bool) -> Case:
    if not isinstance(fields, Mapping):
        raise EvaluationFileError(f"{place} is no object. Give a case, as {_EXAMPLE}")
    try:
        case = convert(dict(fields), Case)
    except ValidationError as error:
        raise EvaluationFileError(f"{place}: {error}. Give a case, as {_EXAMPLE}") from None
    if not all(message.text.strip() for message in case.asked()):
        raise EvaluationFileError(f"{place}: `query` is blank, or one of `messages`. Give the messages to the agent.")
    if case.exact and case.expected_output is None:
        raise EvaluationFileError(f"{place}: `exact` needs `expected_output`, the text that the answer has to be.")
    if not (case.checks() or has_evaluators):
        raise EvaluationFileError(
            f"{place} checks nothing. Give `keywords`, `expected_tool_calls`, or `exact` with `expected_output`."
        )
    return case
