"""Vectors: what the real SDK answers, and what the interpreter makes of it."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.answers import (
    OrchestratorAnswer,
    UnreadableAnswerError,
    parse_entity_answer,
    parse_orchestrator_answer,
    timeout_text,
)


def signals(c: df.DurableOrchestrationContext) -> str:
    c.signal_entity(df.EntityId("counter", "k"), "add", 1)
    return "x"


def raises(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
    yield c.call_activity("A", 1)
    raise ValueError("bad thing")


@pytest.mark.parametrize("text", ["", "[]", '{"actions": [[], []], "schemaVersion": 2}'])
def test_what_is_no_orchestrator_answer_is_unreadable(text: str) -> None:
    """No JSON, no object, two lists where one is due."""
    with pytest.raises(UnreadableAnswerError):
        parse_orchestrator_answer(text)


def test_answers_of_the_oldest_schema_have_a_list_per_yield() -> None:
    """Version 0 is what an SDK answers that names none."""
    text = '{"isDone": false, "actions": [[{"actionType": 6, "externalEventName": "go"}], []]}'
    assert len(parse_orchestrator_answer(text).actions) == 1
    assert parse_orchestrator_answer('{"actions": []}') == OrchestratorAnswer(())


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("FunctionTimeoutException: Timeout value of 00:00:05 was exceeded", "Timeout value of 00:00:05 was exceeded"),
        ("Timeout value of 1", "Timeout value of 1"),
        ("ValueError: the Timeout value of x", None),
    ],
)
def test_a_timeout_is_known_by_the_hosts_own_words(message: str, text: str | None) -> None:
    """Not by the same words inside an error of the app."""
    assert timeout_text(message) == text


def test_an_entity_answers_one_result_per_operation() -> None:
    """The state is a text, whatever it says."""
    answer = {
        "entityExists": True,
        "entityState": "{ }",
        "results": [{"isError": True, "result": '"no"'}],
        "signals": [],
    }
    assert parse_entity_answer(json.dumps(answer), 1).state == "{ }"
    with pytest.raises(UnreadableAnswerError, match="1 results to 2 operations"):
        parse_entity_answer(json.dumps(answer), 2)
