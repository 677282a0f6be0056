"""The Durable Task SDK as our ports: its clients, an agent's entity on its worker, agents inside orchestrations.

The only file that names the SDK's methods. The SDK runs one operation of an entity at a time, in a thread of the
worker, and never delivers an operation again that raised. So an operation that cannot be done now, because a store is
away, its document is an older one or another process is at it, waits here until it can, or until the worker stops: the
engine then delivers it to another.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import Any, Literal

import grpc
from agent_framework import AgentResponse
from durabletask.client import (
    AsyncTaskHubGrpcClient,
    EntityQuery,
    OrchestrationState,
    OrchestrationStatus,
    TaskHubGrpcClient,
)
from durabletask.entities import EntityContext, EntityInstanceId, EntityMetadata
from durabletask.task import CompletableTask, CompositeTask, OrchestrationContext, Task
from msgspec import Struct

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.entity.batch import Batch, Done, Operation, RefusedOperation, decoded
from hosting.core.entity.called_run import AgentCall, AgentRunError, read_answer
from hosting.core.entity.thread_entity import ThreadEntity, UnfinishedError
from hosting.core.thread_operations import OutdatedDocumentError
from hosting.errors import EngineUnavailableError, NewerVersionError, StoreUnavailableError
from hosting.ports import EntityEnd, EntityPage, Purge
from hosting.ports import OrchestrationStatus as Status
from hosting.tools import ENGINE, Engine

logger = logging.getLogger(__name__)

PAUSES_SECONDS = (0.1, 0.5, 2.0, 5.0)
LONGEST_PAUSE_SECONDS = 15.0
CALL_SECONDS = 10.0
"""The longest that the engine is waited for; the SDK waits without end."""
_AGAIN = (StoreUnavailableError, NewerVersionError, OutdatedDocumentError, UnfinishedError)
"""Causes for which an entity asks to be called again."""

_ENDED = (OrchestrationStatus.COMPLETED, OrchestrationStatus.FAILED, OrchestrationStatus.TERMINATED)


class PlainJson(Struct, frozen=True):
    """A JSON value as it was parsed. The two methods are the SDK's hooks.

    Without a type the SDK makes objects of JSON objects that carry a mark of its own, and a message may hold anything.
    """

    value: Any

    @classmethod
    def from_json(cls, value: Any) -> PlainJson:
        """Return the value as it was parsed."""
        return cls(value)

    def to_json(self) -> Any:
        """Return the value as it is to be written."""
        return self.value


class TaskHubClient(Struct, frozen=True):
    """An `EntityClient` and `OrchestrationClient` over either client of the SDK; a synchronous one runs in threads."""

    sdk: TaskHubGrpcClient | AsyncTaskHubGrpcClient

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Send a one-way operation."""
        await _reached(self.sdk.signal_entity, EntityInstanceId(entity, key), operation, json.dumps(value))

    async def read(self, entity: str, key: str) -> str | None:
        """Return the state as it was stored, or None."""
        metadata: EntityMetadata | None = await _reached(self.sdk.get_entity, EntityInstanceId(entity, key))
        return None if metadata is None else metadata.get_state() or None

    async def ended(self, entity: str, key: str) -> EntityEnd | Literal["missing"] | None:
        """Return "missing" where there is no instance: one without a state goes by itself with this SDK."""
        metadata = await _reached(self.sdk.get_entity, EntityInstanceId(entity, key))
        return "missing" if metadata is None else None

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        """Return a page of all keys, which the SDK gives at once, in their order."""
        since = None if changed_from is None else datetime.fromtimestamp(changed_from, UTC)
        until = None if changed_until is None else datetime.fromtimestamp(changed_until, UTC)
        prefix = f"@{entity.lower()}@"
        query = EntityQuery(
            instance_id_starts_with=prefix, last_modified_from=since, last_modified_to=until, include_state=False
        )
        entities: list[EntityMetadata] = await _reached(self.sdk.get_all_entities, query)
        items = sorted((item.id.key, item.last_modified.isoformat()) for item in entities)
        page = [item for item in items if cursor is None or item[0] >= cursor][: limit + 1]
        # The next page's first key, as on Azure: a page after another is never empty.
        return EntityPage(tuple(page[:limit]), page[limit][0] if len(page) > limit else None)

    async def purge(self, instance_id: str) -> Purge:
        """Remove an orchestration that has ended. An entity without a state goes by itself with this SDK."""
        if instance_id.startswith("@"):
            return "missing"
        state: OrchestrationState | None = await _reached(self.sdk.get_orchestration_state, instance_id)
        if state is None:
            return "missing"
        if state.runtime_status not in _ENDED:
            return "running"
        purged = await _reached(self.sdk.purge_orchestration, instance_id, False)
        return "deleted" if purged.deleted_instance_count else "missing"

    async def terminate(self, instance_id: str) -> None:
        """End an orchestration."""
        await _reached(self.sdk.terminate_orchestration, instance_id)

    async def start(self, name: str, instance_id: str, value: object) -> None:
        """Start an orchestration."""
        await _reached(self.sdk.schedule_new_orchestration, name, input=value, instance_id=instance_id)

    async def status(self, instance_id: str) -> Status | None:
        """Return the state of an orchestration, or None."""
        state: OrchestrationState | None = await _reached(self.sdk.get_orchestration_state, instance_id)
        if state is None:
            return None
        word = state.runtime_status.name.title().replace("_", "")
        output, custom = state.get_output(PlainJson), state.get_custom_status(PlainJson)
        return Status(instance_id, word, output and output.value, custom and custom.value)

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send an event to an orchestration."""
        await _reached(self.sdk.raise_orchestration_event, instance_id, event, data=value)


async def _reached(method: Callable[..., Any], *arguments: object, **keywords: object) -> Any:
    if inspect.iscoroutinefunction(method):
        call = method(*arguments, **keywords)
    else:
        call = asyncio.to_thread(method, *arguments, **keywords)
    try:
        return await asyncio.wait_for(call, CALL_SECONDS)
    except (TimeoutError, grpc.RpcError) as error:
        raise EngineUnavailableError("The durable engine cannot be reached. Try again.") from error


class RefusedOperationError(Exception):
    """The entity did not take the operation, for the reason that is the message."""


class ServedEntity(Struct, frozen=True):
    """One agent's entity, which serves the worker's threads on the agents' loop.

    `engine` is how tools reach orchestrations, None where they reach none.
    """

    entity: ThreadEntity
    loop: AgentLoop
    stopping: threading.Event
    engine: TaskHubClient | None = None

    def operate(self, context: EntityContext, argument: PlainJson) -> object:
        """Return the operation's result and set the state; raises `RefusedOperationError`."""
        stored, value = context.get_state(PlainJson), decoded(None if argument is None else argument.value)
        text = None if stored is None else json.dumps(stored.value, ensure_ascii=False, separators=(",", ":"))
        is_signal = isinstance(value, dict) and bool(value.get("logged"))  # only a call for a run has a result to read
        state, result = self._result(
            Batch(context.entity_id.key, text, (Operation(context.operation, value, is_signal),))
        )
        if isinstance(result, RefusedOperation):
            raise RefusedOperationError(result.reason)
        context.set_state(None if state is None else PlainJson(json.loads(state)))
        for signal in result.signals:
            entity = EntityInstanceId(signal.entity, signal.key)
            context.signal_entity(entity, signal.operation, PlainJson(signal.value))
        return result.value

    def _result(self, batch: Batch) -> tuple[str | None, Done | RefusedOperation]:
        for pause in chain(PAUSES_SECONDS, repeat(LONGEST_PAUSE_SECONDS)):
            try:
                return self.loop.result_of(self._operated(batch))
            except _AGAIN as error:
                logger.warning("Thread %s waits: %s Trying again in %g s.", batch.key, error, pause)
            if self.stopping.wait(pause):
                break
        return self.loop.result_of(self._operated(batch))

    async def _operated(self, batch: Batch) -> tuple[str | None, Done | RefusedOperation]:
        if self.engine is not None:
            ENGINE.set(Engine(self.engine, asyncio.get_running_loop()))
        answer = await self.entity.answer(batch)
        return answer.state, answer.results[0]


class AgentTask(CompositeTask[AgentResponse[Any]]):
    """The task of one run: an entity call with the agent's response as its result."""

    def __init__(self, call: AgentCall, sent: CompletableTask[Any]) -> None:
        self._call = call
        super().__init__([sent])

    def on_child_completed(self, task: Task[Any]) -> None:
        """Take the call's end as this task's: the response, or the error that names agent, run and cause."""
        result: Any
        if task.is_failed:
            details = task.get_exception().details
            result = Exception((details.inner_failure or details).message)  # the entity's own sentence
        else:
            result = task.get_result()
        try:
            self._result = read_answer(self._call, result)
        except AgentRunError as error:
            self._exception = error  # type: ignore[assignment]  # raised as it is, as in Azure Functions
        self._is_complete = True
        self._notify_parent()


class CallingOrchestration:
    """A running orchestration, for the proxies in it; their tasks stand alone, in when_all and in when_any."""

    def __init__(self, context: OrchestrationContext) -> None:
        self._context = context

    @property
    def orchestration_id(self) -> str:
        """The orchestration's id."""
        return self._context.instance_id

    def new_id(self) -> str:
        """Return the next id; the SDK makes it of instance, time and a counter, so a replay makes the same one.

        An episode that is made again at another time has other ids, and sent nothing the first time: the worker hands
        its messages to the engine together with its history.
        """
        return str(self._context.new_uuid()).replace("-", "")

    def call(self, call: AgentCall, fields: Mapping[str, Any]) -> AgentTask:
        """Return the task that calls the agent's entity."""
        entity = EntityInstanceId(*call.address.entity)
        return AgentTask(call, self._context.call_entity(entity, "run", dict(fields)))
