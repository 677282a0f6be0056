"""The SDK's clients as the ports that the behaviour knows. The only file that names their methods."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import grpc
from durabletask.client import (
    AsyncTaskHubGrpcClient,
    EntityQuery,
    OrchestrationState,
    OrchestrationStatus,
    TaskHubGrpcClient,
)
from durabletask.entities import EntityInstanceId, EntityMetadata

from hosting.console.plain_json import PlainJson
from hosting.errors import EngineUnavailableError
from hosting.ports import EntityPage, Purge
from hosting.ports import OrchestrationStatus as Status

_ENDED = (OrchestrationStatus.COMPLETED, OrchestrationStatus.FAILED, OrchestrationStatus.TERMINATED)


class TaskHubEntityClient:
    """An `EntityClient` over either client of the SDK; calls of the synchronous one are made in threads."""

    def __init__(self, client: TaskHubGrpcClient | AsyncTaskHubGrpcClient) -> None:
        self._client = client

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """See `EntityClient.signal`."""
        await _asked(self._client.signal_entity, EntityInstanceId(entity, key), operation, json.dumps(value))

    async def read(self, entity: str, key: str) -> str | None:
        """See `EntityClient.read`: the text as it was stored."""
        found: EntityMetadata | None = await _asked(self._client.get_entity, EntityInstanceId(entity, key))
        return None if found is None else found.get_state() or None

    async def list(self, entity: str, limit: int, cursor: str | None, changed_until: float | None = None) -> EntityPage:
        """See `EntityClient.list`: the SDK gives all keys at once, of which the page is cut in their order."""
        until = None if changed_until is None else datetime.fromtimestamp(changed_until, timezone.utc)
        prefix = f"@{entity.lower()}@"
        query = EntityQuery(instance_id_starts_with=prefix, last_modified_to=until, include_state=False)
        found: list[EntityMetadata] = await _asked(self._client.get_all_entities, query)
        items = sorted((item.id.key, item.last_modified.isoformat()) for item in found)
        page = [item for item in items if cursor is None or item[0] > cursor][: limit + 1]
        return EntityPage(tuple(page[:limit]), page[limit - 1][0] if len(page) > limit else None)

    async def purge(self, instance_id: str) -> Purge:
        """See `EntityClient.purge`. An entity without a state is none to this SDK, and goes by itself."""
        if instance_id.startswith("@"):
            return "missing"
        found: OrchestrationState | None = await _asked(self._client.get_orchestration_state, instance_id)
        if found is None:
            return "missing"
        if found.runtime_status not in _ENDED:
            return "running"
        purged = await _asked(self._client.purge_orchestration, instance_id, False)
        return "deleted" if purged.deleted_instance_count else "missing"


class TaskHubOrchestrations:
    """An `OrchestrationClient` over either client of the SDK."""

    def __init__(self, client: TaskHubGrpcClient | AsyncTaskHubGrpcClient) -> None:
        self._client = client

    async def start(self, name: str, instance_id: str, given: object) -> None:
        """See `OrchestrationClient.start`."""
        schedule = self._client.schedule_new_orchestration
        await _asked(schedule, name, input=given, instance_id=instance_id)

    async def status(self, instance_id: str) -> Status | None:
        """See `OrchestrationClient.status`."""
        found: OrchestrationState | None = await _asked(self._client.get_orchestration_state, instance_id)
        if found is None:
            return None
        word = found.runtime_status.name.title().replace("_", "")
        output, said = found.get_output(PlainJson), found.get_custom_status(PlainJson)
        return Status(instance_id, word, output and output.value, said and said.value)

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """See `OrchestrationClient.send_event`."""
        await _asked(self._client.raise_orchestration_event, instance_id, event, data=value)


async def _asked(method: Callable[..., Any], *arguments: object, **named: object) -> Any:
    try:
        if inspect.iscoroutinefunction(method):
            return await method(*arguments, **named)
        return await asyncio.to_thread(method, *arguments, **named)
    except grpc.RpcError as error:
        raise EngineUnavailableError("The durable engine cannot be reached. Try again.") from error
