"""Executions that the SDK 1.7 began, under the installed SDK: what the local host stored of them is in `recorded/`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from durabletask.entities import EntityInstanceId
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.task import OrchestrationContext, RetryPolicy, Task, when_all, when_any
from durabletask.worker import TaskHubGrpcWorker
from google.protobuf.timestamp_pb2 import Timestamp

from devhost.durable.records import Status
from hosting.functions.durable_2.earlier import HTTP_ORCHESTRATION
from hosting.functions.durable_2.execution import Episode
from tests.hosting.functions.durable_2.earlier_app import CLOCKS_INPUT, DEATHS, OUTPUTS, finish, load, make_app
from tests.support.engine_app import engine_app
from tests.support.engine_clocks import FastClock

pytestmark = pytest.mark.behaviour("hosting.earlier-executions")

ROUND = ("double 1", "look a", "double 2", "double 3")
DONE = {"activity": 0, "timer": 1, "child": 1, "agent": 1, "activities": 2, "continued": 4}
ENTITY = EntityInstanceId("counter", "k")
OTHER_ORDER = "its code makes tasks in another order than it yields them"
TRIED_AGAIN = "It tried a failed activity or sub-orchestration again before the change of the SDK"
Steps = Generator[Any, Any, Any]


@pytest.mark.parametrize("name", DEATHS)
async def test_an_execution_of_1_7_goes_on(name: str, tmp_path: Path) -> None:
    """It returns what it would have returned, its ids too; what was done is not done again."""
    acted: list[str] = []
    async with engine_app(make_app(acted), clock=FastClock(), inner=load(name, tmp_path)) as running:
        output = await finish(running, 1 if name == "continued" else 2)

    expected = json.loads(OUTPUTS.read_text(encoding="utf-8"))[name]
    for result in (output, expected):
        for number in (0, 1) if name in ("activity", "timer") else (1,):
            result[number][2].pop()  # an id of a child that 2.x begins, which is named after its number
    assert output == expected
    assert Counter(acted) == Counter((*ROUND[DONE[name] :], *ROUND))


async def test_a_schedules_clock_goes_on(tmp_path: Path) -> None:
    """It wakes, and continues as new with the next time."""
    async with engine_app(make_app([]), clock=FastClock(), inner=load("clock", tmp_path)) as running:

        async def is_over() -> bool:
            instance = await running.store.instance("i")
            assert instance is not None
            assert not instance.status.is_terminal, instance.output
            return CLOCKS_INPUT["wake_at"] not in str(instance.input)

        await running.store.until(is_over)
        clock = await running.store.instance("i")

    assert clock is not None
    assert running.value_of(clock.input)["clock"] == CLOCKS_INPUT["clock"]


async def test_an_execution_of_2_x_fails_under_1_7_and_says_so(tmp_path: Path) -> None:
    acted: list[str] = []
    async with engine_app(make_app(acted), clock=FastClock(), inner=load("later", tmp_path)) as running:
        await running.hub.raise_event("i", "go", "null")
        ended = await running.store.until_ended("i")

    if running.speaks_protobuf:
        assert (ended.status, ended.output) == (Status.COMPLETED, "[4, 2]")
    else:
        assert (ended.status, "began under the Durable Functions SDK 2.x" in str(ended.output)) == (Status.FAILED, True)
    assert acted == []


class Answer:
    """Takes what the SDK's worker sends to its engine."""

    def __init__(self) -> None:
        self.message: Any = None

    def CompleteOrchestratorTask(self, response: Any) -> None:
        self.message = response


def event(number: int = -1, **members: Any) -> pb.HistoryEvent:
    return pb.HistoryEvent(eventId=number, **members)


def started(given: str | None = None) -> list[pb.HistoryEvent]:
    """The beginning of a history."""
    execution = {"name": "ask", "orchestrationInstance": {"instanceId": "i"}}
    if given is not None:
        execution["input"] = {"value": given}
    return [event(orchestratorStarted={}), event(executionStarted=execution)]


def task(number: int) -> pb.HistoryEvent:
    return event(number, taskScheduled={"name": "act"})


def signal(number: int) -> pb.HistoryEvent:
    return event(number, eventSent={"instanceId": str(ENTITY), "name": "op", "input": {"value": '{"id": "x"}'}})


def completed(number: int) -> pb.HistoryEvent:
    return event(taskCompleted={"taskScheduledId": number, "result": {"value": str(number)}})


def actions(function: Callable[..., Steps], past: list[pb.HistoryEvent], *new: pb.HistoryEvent) -> list[Any]:
    """What the orchestrator asks for behind that history, numbered as the history is to have it."""
    request = pb.OrchestratorRequest(instanceId="i", pastEvents=past, newEvents=[event(orchestratorStarted={}), *new])
    episode, worker, answer = Episode(request), TaskHubGrpcWorker(), Answer()
    worker._registry.add_named_orchestrator("ask", lambda context, _: episode.earlier.follow(function, context, None))
    worker._execute_orchestrator(request, answer, "")
    episode.put_around(answer.message)
    return list(answer.message.actions)


def in_order(context: OrchestrationContext, _: Any) -> Steps:
    context.signal_entity(ENTITY, "add")
    both: list[Task[Any]] = [context.call_activity("act"), context.call_activity("act")]
    return (yield when_all(both))


def crossed(context: OrchestrationContext, _: Any) -> Steps:
    first: Task[Any] = context.call_activity("act")
    second: Task[Any] = context.call_activity("act")
    return (yield when_any([second, first]))


def signals_behind(context: OrchestrationContext, _: Any) -> Steps:
    call = context.call_entity(ENTITY, "get")
    context.signal_entity(ENTITY, "add")
    return (yield call)


def leaves_one_out(context: OrchestrationContext, _: Any) -> Steps:
    context.call_activity("act")
    return (yield context.call_activity("act"))


@pytest.mark.parametrize(
    ("function", "past", "fails"),
    [
        (in_order, [signal(0), task(1), task(2)], False),
        (crossed, [task(0), task(1)], True),
        (signals_behind, [signal(0), signal(1)], True),
        (leaves_one_out, [task(0)], True),
    ],
)
def test_the_order_in_which_tasks_are_made_must_be_that_of_their_numbers(
    function: Callable[..., Steps], past: list[pb.HistoryEvent], fails: bool
) -> None:
    """1.7 numbers tasks as they are yielded, and does not ask for one that is not; signals at once."""
    asked = actions(function, [*started(), *past], completed(0))

    assert [OTHER_ORDER in action.completeOrchestration.failureDetails.errorMessage for action in asked] == (
        [True] if fails else []
    )


def tries_again(context: OrchestrationContext, _: Any) -> Steps:
    policy = RetryPolicy(first_retry_interval=timedelta(seconds=1), max_number_of_attempts=2)
    return (yield context.call_activity("act", retry_policy=policy))


@pytest.mark.parametrize(
    ("stored", "requests", "given"),
    [
        ('"{\\"n\\": 1}"', [task(0)], '{"n": 1}'),
        ('"no JSON"', [task(0)], '"no JSON"'),
        ('{"n": 1}', [task(0)], '{"n": 1}'),
        ('"{\\"n\\": 1}"', [task(1)], '"{\\"n\\": 1}"'),
        ('"{\\"n\\": 1}"', [], '"{\\"n\\": 1}"'),
        ('"{\\"durable-agents/execution\\": \\"x\\", \\"input\\": {\\"n\\": 1}}"', [], '{"n": 1}'),
        ('"{\\"durable-agents/parent\\": \\"x\\", \\"input\\": {\\"n\\": 1}}"', [], '{"n": 1}'),
    ],
)
def test_an_input_that_1_7_stored_is_read_where_that_is_known(
    stored: str, requests: list[pb.HistoryEvent], given: str
) -> None:
    """By the number of the first request, or by a name that it carries. Else it stays the text that it may be."""
    request = pb.OrchestratorRequest(instanceId="i", pastEvents=[*started(stored), *requests])

    Episode(request)

    assert request.pastEvents[1].executionStarted.input.value == given


def test_an_execution_that_tried_an_activity_again_under_1_7_is_refused() -> None:
    """2.x gives all attempts one number. It does nothing, and the sentence says what to do."""
    failed = event(taskFailed={"taskScheduledId": 0, "failureDetails": {"errorType": "E", "errorMessage": "no"}})
    time = Timestamp(seconds=1)
    past = [*started(), task(0), failed, event(1, timerCreated={"fireAt": time})]
    past += [event(timerFired={"timerId": 1, "fireAt": time}), task(2)]

    (ended,) = actions(tries_again, past, completed(2))

    message = ended.completeOrchestration.failureDetails.errorMessage
    assert TRIED_AGAIN in message
    assert message.endswith("Start it again.")


def calls_http(context: OrchestrationContext, _: Any) -> Steps:
    """Call as the context of 2.x does, and an activity behind it."""
    answer = yield context.call_sub_orchestrator(HTTP_ORCHESTRATION, input={"method": "GET", "uri": "http://a"})
    return [answer, (yield context.call_activity("act"))]


def test_a_call_of_http_that_got_no_answer_fails_its_code() -> None:
    failed = {"taskScheduledId": 0, "failureDetails": {"errorType": "TaskFailed", "errorMessage": "refused"}}
    past = [*started(), event(0, taskScheduled={"name": "BuiltIn::HttpActivity"})]

    (ended,) = actions(calls_http, past, event(taskFailed=failed))

    assert "refused" in ended.completeOrchestration.failureDetails.errorMessage
