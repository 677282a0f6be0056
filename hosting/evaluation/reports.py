"""What a person and a build server read of an evaluation: a table, and a JUnit file."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from hosting.evaluation.evaluating import CaseResult, EvaluationResult
from hosting.visible import visible, visible_line

_WIDEST = 60
_LONGEST = 300


def table(result: EvaluationResult) -> Iterator[str]:
    """Yield the lines of the table: a row for each case, and below it what did not pass."""
    names = [_cut(case.name, _WIDEST) for case in result.cases]
    width = max(map(len, ["case", *names]))
    yield f"{'case':{width}}  result  checks  tokens"
    for name, case in zip(names, result.cases, strict=True):
        checks = f"{sum(check.passed for check in case.checks)}/{len(case.checks)}"
        yield f"{name:{width}}  {_word(case)}  {checks:>6}  {case.tokens:>6}"
        if not case.passed:
            yield from (f"  {line}" for line in _reasons(case))
    for check in result.together:
        yield f"{_cut(check.name, _WIDEST)}: {'passed' if check.passed else 'FAILED'}, {_cut(check.reason, _LONGEST)}"
    passed = sum(case.passed for case in result.cases)
    tokens = sum(case.tokens for case in result.cases)
    yield f"{passed} of {len(result.cases)} passed, {tokens} tokens"


def _word(case: CaseResult) -> str:
    return "passed" if case.passed else "ERROR " if case.error else "FAILED"


def _reasons(case: CaseResult) -> Iterator[str]:
    """Yield why a case did not pass, and where to look."""
    if case.error:
        yield f"error: {_cut(case.error, _LONGEST)}"
    else:
        yield from (f"{check.name}: {_cut(check.reason, _LONGEST)}" for check in case.checks if not check.passed)
        yield f"answer: {_cut(case.answer, _LONGEST)}"
    yield f"thread: {case.thread_id}"


def _cut(text: str, length: int) -> str:
    line = visible_line(text)
    return line if len(line) <= length else f"{line[: length - 1]}…"


def junit(result: EvaluationResult) -> str:
    """Return the results as JUnit's XML: a test case for each run, and one for each evaluator of all together."""
    suite = ElementTree.Element("testsuite", name=f"evaluation of {result.agent}")
    for case in result.cases:
        fields = {"classname": result.agent, "name": visible(case.name), "time": f"{case.seconds:.3f}"}
        element = ElementTree.SubElement(suite, "testcase", fields)
        if not case.passed:
            reasons = [visible(reason) for reason in _reasons(case)]
            kind = "error" if case.error else "failure"
            ElementTree.SubElement(element, kind, message=reasons[0]).text = "\n".join(reasons)
    for check in result.together:
        element = ElementTree.SubElement(suite, "testcase", classname=result.agent, name=visible(check.name))
        if not check.passed:
            ElementTree.SubElement(element, "failure", message=visible(check.reason))
    counts = {"tests": suite.findall("testcase"), "failures": suite.findall("*/failure")}
    counts["errors"] = suite.findall("*/error")
    for name, elements in counts.items():
        suite.set(name, str(len(elements)))
    suite.set("time", f"{sum(case.seconds for case in result.cases):.3f}")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
