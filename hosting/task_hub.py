"""The Durable Task SDK's clients as our ports, and the call of an agent as its task.

The only file that names the methods of the SDK's clients. A worker of the console has them, and an app on the Durable
Functions SDK 2.x, whose client and tasks are those of the Durable Task SDK.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from datetime import UTC, datetime
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
from durabletask.entities import EntityInstanceId, EntityMetadata
from durabletask.task import CompositeTask, Task
from msgspec import Struct

from hosting.core.entity.called_run import AgentCall, AgentRunError, read_answer
from hosting.errors import EngineUnavailableError
from hosting.ports import EntityEnd, EntityPage, Purge
from hosting.ports import OrchestrationStatus as Status

CALL_SECONDS = 10.0
"""The longest that the engine is waited for; the SDK waits without end."""
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
        return "deleted" if await self.purge_instance(instance_id) else "missing"

    async def purge_instance(self, instance_id: str) -> bool:
        """Remove an instance of either kind; return whether there was one."""
        purged = await _reached(self.sdk.purge_orchestration, instance_id, False)
        return bool(purged.deleted_instance_count)

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
        return Status(instance_id, word, _plain(state.serialized_output), _plain(state.serialized_custom_status))

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send an event to an orchestration."""
        await _reached(self.sdk.raise_orchestration_event, instance_id, event, data=value)


def _plain(text: str | None) -> Any:
    return None if text is None else json.loads(text)


async def _reached(method: Callable[..., Any], *arguments: object, **keywords: object) -> Any:
    if inspect.iscoroutinefunction(method):
        call = method(*arguments, **keywords)
    else:
        call = asyncio.to_thread(method, *arguments, **keywords)
    try:
        return await asyncio.wait_for(call, CALL_SECONDS)
    except (TimeoutError, grpc.RpcError) as error:
        raise EngineUnavailableError("The durable engine cannot be reached. Try again.") from error


class AgentTask(CompositeTask[AgentResponse[Any]]):
    """The task of one run: an entity call with the agent's response as its result."""

    def __init__(self, call: AgentCall, sent: Task[Any]) -> None:
        self._call = call
        super().__init__([sent])

    def on_child_completed(self, task: Task[Any]) -> None:
        """Take the call's end as this task's: the response, or the error that names agent, run and cause."""
        try:
            self._result = read_answer(
                self._call, Exception(self.failure_of(task)) if task.is_failed else task.get_result()
            )
        except AgentRunError as error:
            self.fail(error)
            return
        self._is_complete = True
        self._notify_parent()

    @staticmethod
    def failure_of(task: Task[Any]) -> str:
        """Return the sentence of the entity with which its call failed."""
        details = task.get_exception().details
        return (details.inner_failure or details).message

    def fail(self, error: AgentRunError) -> None:
        """End as failed."""
        self._exception = error  # type: ignore[assignment]  # raised as it is, as in Azure Functions with 1.7
        self._is_complete = True
        self._notify_parent()
