"""Which messages an instance takes: its own execution's, while it lives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from devhost.durable import events
from devhost.durable.intake import take_in
from devhost.durable.records import EventMessage, Status
from tests.devhost.durable.episodes import Episodes, started
from tests.support.engine_clocks import START

LIVE = replace(Episodes().orchestration, status=Status.RUNNING)
ENDED = replace(LIVE, status=Status.COMPLETED)
RESULT = events.TaskCompleted(timestamp=START, task_id=0, result="1")
RAISED = events.EventRaised(timestamp=START, name="go", input="1")


def test_results_of_another_execution_are_dropped_and_events_are_not() -> None:
    """After continue-as-new, what the old execution asked for is nobody's; an event is for whoever bears the id."""
    messages = [EventMessage(RESULT, "old"), EventMessage(RAISED), EventMessage(RESULT, "e")]
    assert take_in(LIVE, messages).events == (RAISED, RESULT)


def test_a_start_replaces_an_ended_instance() -> None:
    start = replace(started(), execution_id="new")
    intake = take_in(ENDED, [EventMessage(start, "new"), EventMessage(RAISED)])
    assert intake.orchestration is not None
    assert (intake.orchestration.execution_id, intake.is_new, intake.events) == ("new", True, (start, RAISED))


def test_carried_events_come_right_behind_the_start_and_before_what_arrived_meanwhile() -> None:
    """Sent 1, 2, 3: the first was taken, the second is carried, the third arrived while the episode ran."""
    continued = replace(LIVE, is_continued=True)
    second, third = (replace(RAISED, input=value) for value in ("2", "3"))
    messages = [EventMessage(third), EventMessage(started(), "e", (second,))]
    assert take_in(continued, messages).events == (started(), second, third)


@pytest.mark.behaviour("engine.children")
def test_a_child_whose_id_is_taken_fails_at_its_parent() -> None:
    """By name, where the real host would leave the parent waiting."""
    parent = events.Parent("main", "p", "pe", 7)
    intake = take_in(LIVE, [EventMessage(replace(started(), execution_id="child", parent=parent))])
    (refusal,) = intake.refusals
    assert isinstance(refusal.body, EventMessage)
    assert (refusal.target.id, refusal.body.execution_id) == ("p", "pe")
    failed = refusal.body.event
    assert isinstance(failed, events.ChildFailed)
    assert failed.task_id == 7
    assert failed.reason == "An Orchestration instance with the ID i and the status Running already exists."
