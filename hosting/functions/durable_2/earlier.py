"""Executions that began under the SDK 1.7, as 2.x goes on with them.

Theory. Both SDKs number the requests of an execution: 1.7 from 0 and in the order in which the code yields them, 2.x
from 1 and in the order in which the code makes them. So an execution with a request 0 began under 1.7. Its numbers are
one too low for 2.x, which reads them as one more. What it asks for from then on gets numbers of a range of its own in
the history. So every later episode sees where the part of 1.7 ends, and no answer to a lost episode of 1.7 is taken
for another one.

A `call_http` of 1.7 is an activity of the host, and that of 2.x is a sub-orchestration. The history is read as if it
were the latter. 2.x makes each attempt of a call under one number, and 1.7 gave each its own, with a timer between.
The history alone does not say which timers those are. So an execution that made a second attempt under 1.7 fails.

Where the two orders differ, a result would go to another task, and another request would be made again. So the code is
followed through the part of 1.7, and an execution in which they differ fails.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from types import GeneratorType
from typing import Any

from durabletask.internal.orchestrator_service_pb2 import (
    HistoryEvent,
    OrchestratorResponse,
    SubOrchestrationInstanceCompletedEvent,
    SubOrchestrationInstanceFailedEvent,
    TaskFailureDetails,
)
from durabletask.task import CompositeTask, NonDeterminismError, Task

from hosting.functions.execution import read_input

_LATER = 1 << 20
"""Where the numbers begin that the history has for requests of 2.x."""
_REQUESTS = (
    *("taskScheduled", "timerCreated", "subOrchestrationInstanceCreated", "eventSent"),
    *("entityOperationCalled", "entityOperationSignaled", "entityLockRequested", "entityUnlockSent"),
)
_ANSWERS = {
    "taskCompleted": "taskScheduledId",
    "taskFailed": "taskScheduledId",
    "subOrchestrationInstanceCompleted": "taskScheduledId",
    "subOrchestrationInstanceFailed": "taskScheduledId",
    "timerFired": "timerId",
}
_ASKING = (
    *("call_activity", "call_activity_with_retry", "call_sub_orchestrator", "call_sub_orchestrator_with_retry"),
    *("call_entity", "signal_entity", "call_http", "create_timer", "send_event"),
)


_HTTP_ACTIVITY = "BuiltIn::HttpActivity"
HTTP_ORCHESTRATION = "BuiltIn__HttpPollOrchestrator"
HTTP_RESPONSE = {"__class__": "DurableHttpResponse", "__module__": "azure.durable_functions.http.models"}
"""How 2.x stores what it returns."""
_LOST = (
    "This execution began under the Durable Functions SDK 1.7, and SDK 2.x cannot go on with it. It tried a failed "
    "activity or sub-orchestration again before the change of the SDK, or its code was changed since. Start it again."
)


class OtherOrderError(Exception):
    """The code of an execution that began under 1.7 yields its tasks in another order than it makes them."""


class EarlierPart:
    """What an execution asked for under 1.7: how many `requests`, and their numbers. None, if it began under 2.x."""

    def __init__(self, events: Iterable[HistoryEvent]) -> None:
        """Count the requests that the history has."""
        self._events = [(event, str(event.WhichOneof("eventType"))) for event in events]
        numbers = {event.eventId for event, kind in self._events if kind in _REQUESTS}
        self.requests = sum(number < _LATER for number in numbers) if 0 in numbers else 0

    def read(self) -> None:
        """Renumber the history for 2.x, and have it call HTTP as 2.x does."""
        requests = {event.eventId for event, _ in self._events if event.taskScheduled.name == _HTTP_ACTIVITY}
        for event, stored in self._events if self.requests else ():
            if stored == "taskScheduled" and event.eventId in requests:
                event.subOrchestrationInstanceCreated.name = HTTP_ORCHESTRATION
            elif stored in ("taskCompleted", "taskFailed") and getattr(event, stored).taskScheduledId in requests:
                _answer_http(event)
            kind = str(event.WhichOneof("eventType"))
            if kind in _REQUESTS:
                event.eventId = self._number(event.eventId)
            elif kind in _ANSWERS:
                answer, member = getattr(event, kind), _ANSWERS[kind]
                setattr(answer, member, self._number(getattr(answer, member)))

    def write(self, response: OrchestratorResponse) -> None:
        """Renumber what 2.x asks for, as the history is to have it: another attempt has the number of the first.

        Of code that does not fit the history only the failure is kept. What it asks for may have been done.
        """
        if not self.requests:
            return
        failures = [action for action in response.actions if _is_lost(action.completeOrchestration.failureDetails)]
        if failures:
            for action in failures:
                _say_what_to_do(action.completeOrchestration.failureDetails)
            del response.actions[:]
            response.actions.extend(failures)
        for action in response.actions:
            action.id += -1 if action.id <= self.requests else _LATER

    def _number(self, stored: int) -> int:
        return stored - _LATER if stored >= _LATER else stored + 1

    def follow(self, orchestrator: Callable[..., Any], context: Any, *given: Any) -> Any:
        """Call the orchestrator and return its steps, which fail where it yields in another order than it asks."""
        if not self.requests:
            return orchestrator(context, *given)
        asked: list[object] = []
        for name in _ASKING:
            if hasattr(context, name):
                setattr(context, name, _noted(getattr(context, name), asked))
        steps = orchestrator(context, *given)
        return _followed(steps, asked, self.requests) if isinstance(steps, GeneratorType) else steps


def _is_lost(failure: TaskFailureDetails) -> bool:
    return failure.errorType.rpartition(".")[2] in (OtherOrderError.__name__, NonDeterminismError.__name__)


def _say_what_to_do(failure: TaskFailureDetails) -> None:
    """Put our sentence in the place of the SDK's, which names a number of its own."""
    if failure.errorType.rpartition(".")[2] == NonDeterminismError.__name__:
        failure.errorMessage = _LOST
        failure.ClearField("stackTrace")


def _answer_http(event: HistoryEvent) -> None:
    """Make the end of the activity the end of a sub-orchestration."""
    if event.HasField("taskFailed"):
        failed = SubOrchestrationInstanceFailedEvent(
            taskScheduledId=event.taskFailed.taskScheduledId, failureDetails=event.taskFailed.failureDetails
        )
        event.subOrchestrationInstanceFailed.CopyFrom(failed)
        return
    answer = json.loads(event.taskCompleted.result.value)
    stored = {"status_code": answer["statusCode"], "headers": answer["headers"], "content": answer["content"]}
    completed = SubOrchestrationInstanceCompletedEvent(taskScheduledId=event.taskCompleted.taskScheduledId)
    completed.result.value = json.dumps({**HTTP_RESPONSE, "__data__": stored})
    event.subOrchestrationInstanceCompleted.CopyFrom(completed)


def input_text(stored: str, *, is_earlier: bool) -> str:
    """Return the input as 2.x stores it. 1.7 makes a JSON string of the JSON text.

    Where nothing was asked for yet, an input with a name in it (`functions.execution`) shows which one stored it. Of
    any other, that is not known.
    """
    value = json.loads(stored) if stored.startswith('"') else None
    if not isinstance(value, str):
        return stored
    handed_on = read_input(value)
    is_named = handed_on.name is not None or handed_on.parent is not None
    return value if is_named or (is_earlier and _is_json(value)) else stored


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _noted(ask: Callable[..., Any], asked: list[object]) -> Callable[..., Any]:
    @functools.wraps(ask)
    def note(*arguments: Any, **options: Any) -> Any:
        task = ask(*arguments, **options)
        asked.append(task)  # a signal is no task: None
        return task

    return note


def _followed(steps: Generator[Any, Any, Any], asked: list[object], requests: int) -> Generator[Any, Any, Any]:
    result: Any = None
    error: Exception | None = None
    while True:
        requests -= len(asked)
        asked.clear()
        try:
            task = steps.send(result) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        if requests > 0:
            _check_order(asked, task)
        try:
            result, error = (yield task), None
        except Exception as raised:
            result, error = None, raised


def _check_order(asked: list[object], yielded: object) -> None:
    """1.7 counts signals when they are sent, and tasks when they are yielded."""
    places = {id(request): place for place, request in enumerate(asked) if request is not None}
    signals = [place for place, request in enumerate(asked) if request is None]
    tasks = [places[id(task)] for task in _leaves(yielded) if id(task) in places]
    if [*signals, *dict.fromkeys(tasks)] != list(range(len(asked))):
        raise OtherOrderError(
            "This execution began under the Durable Functions SDK 1.7, and its code makes tasks in another order than "
            "it yields them. SDK 2.x cannot go on with it. Start it again."
        )


def _leaves(task: object) -> Iterator[Task[Any]]:
    if isinstance(task, CompositeTask):
        for child in task.get_tasks():
            yield from _leaves(child)
    elif isinstance(task, Task):
        yield task
