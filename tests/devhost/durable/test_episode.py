"""Episodes of the pure core: what is appended, sent and decided."""

from __future__ import annotations

from datetime import timedelta

import pytest

from devhost.durable import events
from devhost.durable.answers import (
    CallActivity,
    CallChild,
    CallEntity,
    ContinueAsNew,
    CreateTimer,
    OrchestratorAnswer,
    RetryOptions,
    WaitForEvent,
    WhenAll,
    WhenAny,
)
from devhost.durable.episode import Broken
from devhost.durable.records import ActivityTask, EventMessage, Status
from tests.devhost.durable.episodes import Episodes, done, events_of, started
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


def test_an_episode_writes_its_history_in_the_order_of_the_protocol() -> None:
    """Started, what arrived, what was asked for, completed."""
    episodes = Episodes()
    episodes.start(A)
    episodes.play([_completed(0)], done(A, output='"r"'))
    assert episodes.event_names() == [
        *("OrchestratorStarted", "ExecutionStarted", "TaskScheduled", "OrchestratorCompleted"),
        *("OrchestratorStarted", "TaskCompleted", "ExecutionCompleted", "OrchestratorCompleted"),
    ]
    assert (episodes.orchestration.status, episodes.orchestration.output) == (Status.COMPLETED, '"r"')


def test_what_the_history_confirms_is_not_asked_for_again() -> None:
    """The answer is cumulative; only the second activity is new."""
    episodes = Episodes()
    episodes.start(A)
    outcome = episodes.play([_completed(0)], OrchestratorAnswer((A, B)))
    assert [sent.body for sent in outcome.outgoing] == [ActivityTask("B", "2", 1, "i", "e")]


def test_ids_are_given_in_the_order_of_the_children() -> None:
    """A compound asks for all of its children at once."""
    timer = CreateTimer(START + timedelta(seconds=9), is_canceled=False)
    episodes = Episodes()
    episodes.start(WhenAny((WaitForEvent("go"), timer, WhenAll((A, CallChild("child", "null", None))))))
    ids = {type(event).__name__: event.event_id for event in episodes.history if event.event_id >= 0}
    assert ids == {"TimerCreated": 0, "TaskScheduled": 1, "ChildCreated": 2}


def test_a_child_without_an_id_is_named_after_the_execution() -> None:
    """`<execution id>:<number>`, in decimal."""
    (start,) = events_of(Episodes().start(CallChild("child", "null", None)))
    assert isinstance(start, events.ExecutionStarted)
    assert (start.instance_id, start.parent) == ("e:0", events.Parent("main", "i", "e", 0))


@pytest.mark.behaviour("engine.retry-ids")
def test_a_retry_takes_an_id_for_each_attempt_and_each_timer() -> None:
    """Task 0, timer 1 after the interval, task 2; after a success no timer."""
    episodes = Episodes()
    episodes.start(RETRIED)
    outcome = episodes.play([_failed(0)], OrchestratorAnswer((RETRIED,)))
    assert outcome.outgoing[0].due == START + timedelta(seconds=2 + 5)
    episodes.play([_fired(1)], OrchestratorAnswer((RETRIED,)))
    episodes.play([_completed(2)], OrchestratorAnswer((RETRIED, B)))
    assert [event.event_id for event in episodes.history if isinstance(event, events.TaskScheduled)] == [0, 2, 3]


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


def test_a_failed_child_fails_the_whole_at_once() -> None:
    """The SDK goes on with the first failure, and takes the next id; waiting for the other child would lose count."""
    both = WhenAll((A, B))
    episodes = Episodes()
    episodes.start(both)
    outcome = episodes.play([_failed(0)], OrchestratorAnswer((both, A)))
    assert [sent.body for sent in outcome.outgoing] == [ActivityTask("A", "1", 2, "i", "e")]


@pytest.mark.behaviour("engine.open-work")
def test_an_instance_with_open_work_ends_when_the_work_does() -> None:
    """The orchestrator has returned; its other activity has not."""
    race = WhenAny((A, B))
    episodes = Episodes()
    episodes.start(race)
    episodes.play([_completed(0)], done(race, output='"first"'))
    assert episodes.orchestration.status is Status.RUNNING
    episodes.play([_completed(1)], done(race, output='"first"'))
    assert (episodes.orchestration.status, episodes.orchestration.output) == (Status.COMPLETED, '"first"')


@pytest.mark.behaviour("engine.open-work")
def test_a_cancelled_timer_and_waits_for_events_do_not_hold_an_instance_open() -> None:
    """The event won: the timer's id stays taken, its end is not awaited."""

    def race(is_canceled: bool) -> WhenAny:
        return WhenAny((CreateTimer(START + timedelta(hours=1), is_canceled), WaitForEvent("go"), WaitForEvent("stop")))

    episodes = Episodes()
    episodes.start(race(False))
    episodes.play([_raised()], OrchestratorAnswer((race(True), A)))
    episodes.play([_completed(1)], done(race(True), A))
    assert episodes.orchestration.status is Status.COMPLETED


@pytest.mark.behaviour("engine.carried-events")
def test_events_after_continue_as_new_go_to_the_next_execution() -> None:
    """The first is taken; the second comes along behind the start of the new execution."""
    episodes = Episodes()
    episodes.start(WaitForEvent("go"))
    answer = done(WaitForEvent("go"), ContinueAsNew("2"))
    outcome = episodes.play([_raised(), _raised("other")], answer)
    (sent,) = outcome.outgoing
    assert isinstance(sent.body, EventMessage)
    start = sent.body.event
    assert isinstance(start, events.ExecutionStarted)
    assert (start.execution_id, start.input, start.generation) == ("e2", '"2"', None)
    assert sent.body.carried == (_raised("other"),)
    assert (episodes.history, episodes.orchestration.is_continued) == ((), True)


def test_a_continued_execution_begins_with_the_extra_completed_event() -> None:
    """As recorded: the fresh history ends with OrchestratorCompleted before anything is scheduled."""
    episodes = Episodes()
    start = events_of(
        episodes.play(
            [events.ExecutionStarted(timestamp=START, instance_id="i", execution_id="e", name="main", input=None)],
            done(ContinueAsNew("2")),
        )
    )
    episodes.play(list(start), OrchestratorAnswer((A,)))
    assert episodes.event_names() == [
        *("OrchestratorStarted", "ExecutionStarted", "OrchestratorCompleted"),
        *("TaskScheduled", "OrchestratorCompleted"),
    ]


@pytest.mark.behaviour("engine.suspended")
def test_a_suspended_instance_writes_what_arrives_and_nothing_that_is_decided() -> None:
    """On resume, all that was held back is carried out at once."""
    episodes = Episodes()
    episodes.start(WaitForEvent("go"))
    suspended = events.ExecutionSuspended(timestamp=START, reason="pause")
    episodes.play([suspended], OrchestratorAnswer((WaitForEvent("go"),)))
    held = episodes.play([_raised()], OrchestratorAnswer((WaitForEvent("go"), A)))
    assert (held.outgoing, held.orchestration.status, held.orchestration.output) == ((), Status.SUSPENDED, '"pause"')
    resumed = events.ExecutionResumed(timestamp=START, reason=None)
    outcome = episodes.play([resumed], OrchestratorAnswer((WaitForEvent("go"), A)))
    assert len(outcome.outgoing) == 1
    assert (outcome.orchestration.status, outcome.orchestration.output) == (Status.RUNNING, '"pause"')


@pytest.mark.behaviour("engine.suspended")
@pytest.mark.parametrize(
    ("reasons", "output"),
    [((None, None), None), (("pause", None), '"pause"'), ((None, "go on"), '"go on"'), (("pause", "go on"), '"go on"')],
)
def test_the_last_reason_of_a_suspension_or_a_resumption_stays_as_the_output(
    reasons: tuple[str | None, str | None], output: str | None
) -> None:
    """As on the real host; the end of the code writes over it."""
    episodes = Episodes()
    episodes.start(WaitForEvent("go"))
    paused, resumed = reasons
    episodes.play(
        [events.ExecutionSuspended(timestamp=START, reason=paused)], OrchestratorAnswer((WaitForEvent("go"),))
    )
    episodes.play([events.ExecutionResumed(timestamp=START, reason=resumed)], OrchestratorAnswer((WaitForEvent("go"),)))

    assert (episodes.orchestration.status, episodes.orchestration.output) == (Status.RUNNING, output)


@pytest.mark.behaviour("engine.terminated")
def test_terminating_ends_the_instance_whatever_it_answers() -> None:
    """The code is not asked, and open work is not awaited."""
    episodes = Episodes()
    episodes.start(A)
    terminated = events.ExecutionTerminated(timestamp=START, input="stop")
    outcome = episodes.play([terminated], OrchestratorAnswer((A, B)))
    assert (outcome.orchestration.status, outcome.orchestration.output) == (Status.TERMINATED, '"stop"')
    assert (outcome.outgoing, outcome.is_over) == ((), True)


def test_a_history_that_the_code_does_not_ask_for_fails_the_instance() -> None:
    """The app was changed under a running instance: it fails by name instead of doing something else."""
    episodes = Episodes()
    episodes.start(A)
    episodes.play([_completed(0)], OrchestratorAnswer((B,)))
    assert episodes.orchestration.status is Status.FAILED
    assert (episodes.orchestration.output or "").startswith('"Non-Deterministic workflow detected: ')


def test_a_failure_without_an_answer_is_the_instance_failure() -> None:
    """The whole text, under the function's name."""
    episodes = Episodes()
    episodes.play(
        [events.ExecutionStarted(timestamp=START, instance_id="i", execution_id="e", name="main", input=None)],
        Broken("AttributeError: x"),
    )
    assert episodes.orchestration.output == "\"Orchestrator function 'main' failed: AttributeError: x\""


@pytest.mark.behaviour("engine.custom-status-limit")
def test_a_custom_status_of_more_than_16_kb_fails_the_instance() -> None:
    """Counted in UTF-16, quotes included; the one before it stays."""
    episodes = Episodes()
    episodes.play([started()], OrchestratorAnswer((), custom_status='"' + "é" * 8190 + '"'))
    assert episodes.orchestration.status is Status.RUNNING
    episodes.play([_raised()], OrchestratorAnswer((), custom_status='"' + "é" * 8191 + '"'))
    assert episodes.orchestration.output == (
        "\"Orchestrator function 'main' failed: The size of the JSON-serialized payload must not exceed 16 KB of "
        'UTF-16 text."'
    )
    assert episodes.orchestration.custom_status == '"' + "é" * 8190 + '"'


def test_results_that_come_twice_count_once() -> None:
    """An activity delivered again after a crash may answer twice; ids that are not open are passed over."""
    episodes = Episodes()
    episodes.start(A)
    episodes.play([_completed(0), _completed(0)], OrchestratorAnswer((A, B)))
    assert [event.event_id for event in episodes.history if isinstance(event, events.TaskScheduled)] == [0, 1]


def test_a_message_to_an_entity_names_the_one_before_it() -> None:
    """`Predecessor` is the time of the last message to the same entity; a signal says so."""
    call = CallEntity("@counter@k", "get", "null", is_signal=False)
    signal = CallEntity("@counter@k", "add", "5", is_signal=True)
    episodes = Episodes()
    episodes.start(signal, call)
    first, second = (event.input for event in episodes.history if isinstance(event, events.EventSent))
    assert '"op":"add","signal":true,"input":"\\"5\\""' in first
    assert '"Predecessor":"0001-01-01T00:00:00"' in first
    assert '"op":"get","input":"\\"null\\""' in second
    assert '"Predecessor":"2026-01-01T00:00:01Z"' in second
