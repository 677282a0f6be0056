"""Episodes of the pure core: what is appended, sent and decided."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from devhost.durable import events
from devhost.durable.answers import (
    CallActivity,
    OrchestratorAnswer,
    RetryOptions,
    WhenAll,
    WhenAny,
)
from devhost.durable.intake import take_in
from devhost.durable.records import EventMessage, Status
from tests.devhost.durable.episodes import Episodes, done, started
from tests.support.engine_clocks import START

A, B = CallActivity("A", "1"), CallActivity("B", "2")
RETRIED = WhenAll((CallActivity("A", "1", RetryOptions(timedelta(seconds=5), 2)),))


def _completed(task_id: int, result: str = '"r"') -> events.TaskCompleted:
    return events.TaskCompleted(timestamp=START, task_id=task_id, result=result)


def _failed(task_id: int) -> events.TaskFailed:
    return events.TaskFailed(timestamp=START, task_id=task_id, reason="R", details="D")


def _fired(timer_id: int) -> events.TimerFired:
    return events.TimerFired(timestamp=START, timer_id=timer_id, fire_at=START)


def _raised(name: str = "go") -> events.EventRaised:
    return events.EventRaised(timestamp=START, name=name, input="1")


@pytest.mark.behaviour("engine.retry-ids")
def test_the_last_failure_sets_one_more_timer_that_fires_at_once() -> None:
    """Without it the SDK never learns that the retries are over."""
    episodes = Episodes()
    episodes.start(RETRIED)
    episodes.play([_failed(0)], OrchestratorAnswer((RETRIED,)))
    episodes.play([_fired(1)], OrchestratorAnswer((RETRIED,)))
    outcome = episodes.play([_failed(2)], OrchestratorAnswer((RETRIED,)))
    assert (outcome.outgoing[0].due, episodes.history[-2].event_id) == (START + timedelta(seconds=4), 3)


@pytest.mark.behaviour("engine.missing-by-name")
def test_a_call_to_nobody_fails_the_instance_with_the_names_there_are() -> None:
    """Asked for in the middle of a compound, too: what was asked for before it is still carried out."""
    episodes = Episodes()
    episodes.start(WhenAll((A, CallActivity("nobody", "1"))))
    episodes.play([_completed(0)], OrchestratorAnswer((WhenAll((A, CallActivity("nobody", "1"))),)))
    output = episodes.orchestration.output or ""
    assert output.startswith(
        "\"Orchestrator function 'main' failed: The function 'nobody' doesn't exist, is disabled, "
    )
    assert output.endswith("The following are the known activity functions: 'A', 'B'.\"")


@pytest.mark.behaviour("engine.open-work")
def test_an_instance_with_open_work_ends_when_the_work_does() -> None:
    race = WhenAny((A, B))
    episodes = Episodes()
    episodes.start(race)
    episodes.play([_completed(0)], done(race, output='"first"'))
    assert episodes.orchestration.status is Status.RUNNING
    episodes.play([_completed(1)], done(race, output='"first"'))
    assert (episodes.orchestration.status, episodes.orchestration.output) == (Status.COMPLETED, '"first"')


@pytest.mark.behaviour("engine.custom-status-limit")
def test_a_custom_status_of_more_than_16_kb_fails_the_instance() -> None:
    episodes = Episodes()
    episodes.play([started()], OrchestratorAnswer((), custom_status='"' + "é" * 8190 + '"'))
    assert episodes.orchestration.status is Status.RUNNING
    episodes.play([_raised()], OrchestratorAnswer((), custom_status='"' + "é" * 8191 + '"'))
    assert episodes.orchestration.output == (
        "\"Orchestrator function 'main' failed: The size of the JSON-serialized payload must not exceed 16 KB of "
        'UTF-16 text."'
    )
    assert episodes.orchestration.custom_status == '"' + "é" * 8190 + '"'


@pytest.mark.behaviour("engine.children")
def test_a_child_whose_id_is_taken_fails_at_its_parent() -> None:
    """By name, where the real host would leave the parent waiting."""
    live = replace(Episodes().orchestration, status=Status.RUNNING)
    parent = events.Parent("main", "p", "pe", 7)
    intake = take_in(live, [EventMessage(replace(started(), execution_id="child", parent=parent))])
    (refusal,) = intake.refusals
    assert isinstance(refusal.body, EventMessage)
    assert (refusal.target.id, refusal.body.execution_id) == ("p", "pe")
    failed = refusal.body.event
    assert isinstance(failed, events.ChildFailed)
    assert failed.task_id == 7
    assert failed.reason == "An Orchestration instance with the ID i and the status Running already exists."
