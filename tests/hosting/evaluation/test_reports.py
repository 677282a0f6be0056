"""The table and the JUnit file of an evaluation."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from hosting.evaluation.evaluating import CaseResult, Check, EvaluationResult
from hosting.evaluation.reports import junit, table

pytestmark = pytest.mark.behaviour("evaluation.command")
RESULT = EvaluationResult(
    "guide",
    (
        CaseResult("good", "t1", (Check("keyword_check", True),), "yes", tokens=3, seconds=0.5),
        CaseResult("bad\x07", "t2", (Check("a", True), Check("b", False, "no <b>")), "n\x00o\nno", tokens=4),
        CaseResult("none", "t3", error="There is no agent."),
    ),
    (Check("Service", False, "1 of 2 passed"),),
)


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


def test_a_case_without_a_check_or_an_answer_has_not_passed() -> None:
    """A pass would say nothing."""
    assert [case.passed for case in RESULT.cases] == [True, False, False]
    assert not CaseResult("unchecked", "t").passed
    assert not RESULT.passed
