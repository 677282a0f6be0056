"""Activities: one invocation of the app's function, or of the engine's own for HTTP requests."""

from __future__ import annotations

from devhost.durable.actions import HTTP_ACTIVITY
from devhost.durable.answers import timeout_text
from devhost.durable.clock import Clock
from devhost.durable.compact import recompact
from devhost.durable.crash import crash_points
from devhost.durable.events import TaskCompleted, TaskFailed
from devhost.durable.httpactivity import HttpFailedError, call_http
from devhost.durable.missing import FunctionNames, is_missing
from devhost.durable.records import ActivityTask, EventMessage, Inbox, Outgoing, Step, Target, orchestration_target
from devhost.durable.work import Done, Outcome, bodies, seqs
from devhost.ports import DurableFunctions, FunctionFailedError


class Activities:
    """Runs one activity. At least once: an activity that was cut off runs again after a restart."""

    most_messages = 1

    def __init__(self, functions: DurableFunctions, names: FunctionNames, clock: Clock) -> None:
        self._functions = functions
        self._names = names
        self._clock = clock

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        (task,) = bodies(inbox.messages, ActivityTask)
        event = await self._run(task)
        reply = Outgoing(orchestration_target(task.caller_id), EventMessage(event, task.caller_execution_id))
        return Done(Step(seqs(inbox.messages), produced=(reply,)))

    async def _run(self, task: ActivityTask) -> TaskCompleted | TaskFailed:
        if task.name == HTTP_ACTIVITY:
            return await self._request(task)
        if is_missing(self._names, "activity", task.name):
            return self._failed(task, f"Activity function '{task.name}' does not exist.", space="")
        crash_points.reached("before-activity")
        try:
            text = await self._functions.call("activity", task.name, task.input)
        except FunctionFailedError as failure:
            too_long = timeout_text(failure.message)
            return self._failed(task, too_long or failure.message, space="" if too_long else " ")
        crash_points.reached("after-activity")
        return TaskCompleted(timestamp=self._clock.now(), task_id=task.task_id, result=_result(text))

    async def _request(self, task: ActivityTask) -> TaskCompleted | TaskFailed:
        crash_points.reached("before-activity")
        try:
            result = await call_http(task.input)
        except HttpFailedError as error:
            details = f"Unhandled exception while executing task: {error}"
            return TaskFailed(timestamp=self._clock.now(), task_id=task.task_id, reason=str(error), details=details)
        crash_points.reached("after-activity")
        return TaskCompleted(timestamp=self._clock.now(), task_id=task.task_id, result=result)

    def _failed(self, task: ActivityTask, error: str, space: str) -> TaskFailed:
        # The second space is the real host's: what it cuts out of the worker's text begins with one (3.8).
        reason = f"Activity function '{task.name}' failed: {space}{error}"
        return TaskFailed(timestamp=self._clock.now(), task_id=task.task_id, reason=reason, details=error)


def _result(text: str) -> str:
    try:
        return recompact(text)
    except ValueError:
        return text
