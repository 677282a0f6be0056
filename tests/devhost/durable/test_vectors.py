"""Vectors: what the real SDK answers, and what the interpreter makes of it."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest
from azure.functions._durable_functions import OrchestrationContext

from devhost.durable import events
from devhost.durable.answers import (
    OrchestratorAnswer,
    UnreadableAnswerError,
    parse_entity_answer,
    parse_orchestrator_answer,
    parse_orchestrator_failure,
    timeout_text,
)
from devhost.durable.episode import open_episode
from devhost.durable.wire import orchestrator_payload
from tests.devhost.durable.episodes import Episodes, started
from tests.support.engine_clocks import START


def _answer(function: Any, episodes: Episodes, *inbox: events.Event) -> str:
    """Return the SDK's answer to the next episode of these episodes."""
    app = df.DFApp()
    app.orchestration_trigger(context_name="c")(function)
    (built,) = app.get_functions()
    episode = open_episode(episodes.orchestration, episodes.history, inbox, START)
    answer: str = built.get_user_function()(
        OrchestrationContext(orchestrator_payload(episode.orchestration, episode.past, episode.new))
    )
    return answer


def hello(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
    return (yield c.call_activity("A", {"a": 1}))


def again(c: df.DurableOrchestrationContext) -> None:
    c.continue_as_new({"n": 2})


def plain(c: df.DurableOrchestrationContext) -> dict[str, int]:
    return {"v": 1}


def signals(c: df.DurableOrchestrationContext) -> str:
    c.signal_entity(df.EntityId("counter", "k"), "add", 1)
    return "x"


def raises(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
    yield c.call_activity("A", 1)
    raise ValueError("bad thing")


def both(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
    try:
        yield c.task_all([c.call_activity("A", 1), c.call_activity("B", 2)])
    except Exception as error:
        return str(error)


HELLO = {"actionType": 0, "functionName": "A", "input": '{"a": 1}'}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (hello, {"isDone": False, "schemaVersion": 2, "actions": [[HELLO]]}),
        (again, {"isDone": True, "schemaVersion": 2, "actions": [[{"actionType": 4, "input": '{"n": 2}'}]]}),
        (plain, {"isDone": True, "schemaVersion": 2, "actions": [[]], "output": {"v": 1}}),
        (
            signals,
            {
                "isDone": True,
                "schemaVersion": 2,
                "actions": [[{"actionType": 9, "instanceId": "@counter@k", "operation": "add", "input": "1"}]],
                "output": "x",
            },
        ),
    ],
    ids=["activity", "continue-as-new", "no generator", "signal without yield"],
)
def test_the_sdk_answers_a_first_episode_as_the_contract_says(function: Any, expected: object) -> None:
    """The trigger text is ours; an SDK that changed would be seen here first."""
    assert json.loads(_answer(function, Episodes(), started())) == expected


def test_a_result_ends_the_orchestration() -> None:
    """Same actions, `isDone`, the output as plain JSON."""
    episodes = Episodes()
    episodes.play([started()], parse_orchestrator_answer(_answer(hello, episodes, started())))
    completed = events.TaskCompleted(timestamp=START, task_id=0, result='"hi"')
    text = _answer(hello, episodes, completed)
    assert json.loads(text) == {"isDone": True, "schemaVersion": 2, "actions": [[HELLO]], "output": "hi"}
    episodes.play([completed], parse_orchestrator_answer(text))
    assert episodes.orchestration.output == '"hi"'


def test_an_error_carries_the_answer_behind_its_label() -> None:
    """The actions are still needed: they confirm the history."""
    episodes = Episodes()
    episodes.play([started()], parse_orchestrator_answer(_answer(raises, episodes, started())))
    completed = events.TaskCompleted(timestamp=START, task_id=0, result="1")
    with pytest.raises(Exception, match="bad thing") as caught:
        _answer(raises, episodes, completed)
    answer = parse_orchestrator_failure(f"Exception: {caught.value}")
    assert answer is not None
    assert answer.error == "bad thing"
    episodes.play([completed], answer)
    assert episodes.orchestration.output == "\"Orchestrator function 'main' failed: bad thing\""


def test_task_all_fails_at_once_and_the_instance_ends_with_the_other_task() -> None:
    """The error's text is reason and details, as the SDK joins them."""
    episodes = Episodes()
    episodes.play([started()], parse_orchestrator_answer(_answer(both, episodes, started())))
    failed = events.TaskFailed(timestamp=START, task_id=0, reason="R", details="D")
    answer = parse_orchestrator_answer(_answer(both, episodes, failed))
    assert (answer.is_done, answer.output) == (True, '"R \\n D"')
    episodes.play([failed], answer)
    assert episodes.orchestration.status.value == "Running"
    episodes.play([events.TaskCompleted(timestamp=START, task_id=1, result="2")], answer)
    assert episodes.orchestration.status.value == "Completed"


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
