"""One execution of an orchestration, whose ids are made of its name (`functions.execution`).

The SDK makes its context itself. So the name that comes with an input is taken off the message of an episode before the
SDK reads it, and put around the inputs of what the execution begins in the SDK's answer.
"""

from __future__ import annotations

import asyncio
import functools
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import azure.durable_functions as df
from durabletask.internal.orchestrator_service_pb2 import (
    ORCHESTRATION_STATUS_CONTINUED_AS_NEW,
    ExecutionStartedEvent,
    OrchestratorRequest,
    OrchestratorResponse,
)

from hosting.functions.durable_2.earlier import EarlierPart, input_text
from hosting.functions.execution import ExecutionName, read_input
from hosting.invocation import begin_invocation, carried


class Episode:
    """The execution's name, the sub-orchestrations of its history, and how many ids it has given out.

    `earlier` is the part of it that ran under 1.7.
    """

    def __init__(self, request: OrchestratorRequest) -> None:
        """Take the names off the inputs of the request, and what is as 1.7 has it."""
        events = [*request.pastEvents, *request.newEvents]
        self.earlier = EarlierPart(events)
        self.earlier.read()
        self.children = {
            event.subOrchestrationInstanceCreated.instanceId
            for event in events
            if event.HasField("subOrchestrationInstanceCreated")
        }
        started = [event.executionStarted for event in events if event.HasField("executionStarted")]
        self._names = [_taken_off(each, request, is_earlier=self.earlier.requests > 0) for each in started]
        self._ids = 0

    def new_uuid(self) -> str:
        """Return the next id of this execution, the same one at every repetition."""
        self._ids += 1
        return self._names[-1].id(self._ids)

    def new_guid(self) -> UUID:
        """Return `new_uuid` as an object."""
        return UUID(self.new_uuid())

    def put_around(self, response: OrchestratorResponse) -> None:
        """Hand the name on with the inputs of what the execution begins, and number it for the history."""
        self.earlier.write(response)
        for action in response.actions:
            if action.HasField("createSubOrchestration"):
                _put_around(action.createSubOrchestration.input, self._names[-1].for_child)
            ended = action.completeOrchestration
            if ended.orchestrationStatus == ORCHESTRATION_STATUS_CONTINUED_AS_NEW:
                _put_around(ended.result, self._names[-1].for_next)


EPISODE: ContextVar[Episode] = ContextVar("episode")
"""The episode that the SDK runs in this thread."""


def naming(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Return the handler of an orchestrator, whose ids are then made of its execution's name."""
    named = df.Orchestrator(_with_ids(handle.orchestrator_function))  # type: ignore[attr-defined]  # the SDK's name

    @functools.wraps(handle)
    async def run(**arguments: Any) -> str:
        (given,) = (value for name, value in arguments.items() if name != "context")
        request = OrchestratorRequest.FromString(b64decode(getattr(given, "body", given)))
        episode = Episode(request)
        EPISODE.set(episode)
        begin_invocation(arguments.get("context"))
        body = b64encode(request.SerializeToString()).decode()
        answer = await asyncio.to_thread(carried(named.handle), body)
        response = OrchestratorResponse.FromString(b64decode(answer))
        episode.put_around(response)
        return b64encode(response.SerializeToString()).decode()

    return run


def _with_ids(orchestrator: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(orchestrator)
    def run(context: Any, *given: Any) -> Any:
        episode = EPISODE.get()
        context.new_uuid = episode.new_uuid
        if hasattr(context, "new_guid"):
            context.new_guid = episode.new_guid
        return episode.earlier.follow(orchestrator, context, *given)

    return run


def _taken_off(started: ExecutionStartedEvent, request: OrchestratorRequest, *, is_earlier: bool) -> ExecutionName:
    """Return the execution's name, and leave the input that was given to it."""
    if started.HasField("input"):
        started.input.value = input_text(started.input.value, is_earlier=is_earlier)
    given = read_input(started.input.value)
    if isinstance(given.input, str) and given.input != started.input.value:
        started.input.value = given.input
    if given.name is not None:
        return ExecutionName(given.name)
    if given.parent is not None and started.HasField("parentInstance"):
        return ExecutionName.of_child(given.parent, started.parentInstance.taskScheduledId)
    execution_id = started.orchestrationInstance.executionId.value or request.executionId.value
    return ExecutionName.of_start(request.instanceId, execution_id)


def _put_around(text: Any, wrap: Callable[[Any], Any]) -> None:
    text.value = json.dumps(wrap(json.loads(text.value) if text.value else None))
