"""The SDK's durable client as the ports that the behaviour knows. The only file that names its methods."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
from azure.durable_functions import DurableOrchestrationClient, EntityId, OrchestrationRuntimeStatus

from hosting.errors import EngineUnavailableError
from hosting.ports import EntityPage, OrchestrationStatus, Purge
from hosting.times import utc

_CURSOR_HEADER = "x-ms-continuation-token"
_ENDED = (
    OrchestrationRuntimeStatus.Completed,
    OrchestrationRuntimeStatus.Failed,
    OrchestrationRuntimeStatus.Canceled,
    OrchestrationRuntimeStatus.Terminated,
)
_TIMEOUT = aiohttp.ClientTimeout(total=30)


class DurableEntityClient:
    """An `EntityClient` over the durable client of one invocation."""

    def __init__(self, client: DurableOrchestrationClient) -> None:
        self._client = client

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """See `EntityClient.signal`. The SDK sends no body for falsy values, so `value` must be truthy."""
        try:
            await self._client.signal_entity(EntityId(entity, key), operation, value)
        except Exception as error:
            raise _unavailable() from error

    async def read(self, entity: str, key: str) -> str | None:
        """See `EntityClient.read`. The engine answers with the state as a value, not as the text that was stored."""
        try:
            found = await self._client.read_entity_state(EntityId(entity, key))
        except Exception as error:
            raise _unavailable() from error
        if not found.entity_exists or found.entity_state in (None, ""):
            return None
        return json.dumps(found.entity_state, ensure_ascii=False)

    async def list(self, entity: str, limit: int, cursor: str | None, changed_until: float | None = None) -> EntityPage:
        """See `EntityClient.list`: the documented HTTP API, because the SDK has no method for it (host contract 4.3.5).

        Without `fetchState` the engine leaves deleted entities out by itself.
        """
        # The SDK tells its address to nobody; each of its own methods reads this attribute.
        base = self._client._orchestration_bindings.rpc_base_url
        until = {} if changed_until is None else {"lastOperationTimeTo": utc(changed_until)}
        url = f"{base}entities/{quote(entity)}?{urlencode({'top': limit, **until})}"
        headers = {_CURSOR_HEADER: cursor} if cursor else {}
        try:
            async with aiohttp.ClientSession(timeout=_TIMEOUT) as session, session.get(url, headers=headers) as answer:
                answer.raise_for_status()
                items: list[dict[str, Any]] = await answer.json(content_type=None)
                following = answer.headers.get(_CURSOR_HEADER)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise _unavailable() from error
        return EntityPage(tuple((item["entityId"]["key"], item["lastOperationTime"]) for item in items), following)

    async def purge(self, instance_id: str) -> Purge:
        """See `EntityClient.purge`. The SDK puts ids into addresses as they are, and one that is empty means all."""
        named = quote(instance_id, safe="@")
        if named.strip(".") == "":
            return "missing"
        try:
            if not instance_id.startswith("@"):
                status = (await self._client.get_status(named)).runtime_status
                if status not in _ENDED:
                    return "missing" if status is None else "running"
            purged = await self._client.purge_instance_history(named)
        except Exception as error:
            raise _unavailable() from error
        return "deleted" if purged.instances_deleted else "missing"


class DurableOrchestrations:
    """An `OrchestrationClient` over the durable client of one invocation."""

    def __init__(self, client: DurableOrchestrationClient) -> None:
        self._client = client

    async def start(self, name: str, instance_id: str, given: object) -> None:
        """See `OrchestrationClient.start`."""
        try:
            await self._client.start_new(name, instance_id, given)
        except Exception as error:
            raise _unavailable() from error

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        """See `OrchestrationClient.status`."""
        try:
            found = await self._client.get_status(instance_id)
        except Exception as error:
            raise _unavailable() from error
        if found.runtime_status is None:
            return None
        return OrchestrationStatus(instance_id, found.runtime_status.value, found.output, found.custom_status)

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """See `OrchestrationClient.send_event`."""
        try:
            await self._client.raise_event(instance_id, event, value)
        except Exception as error:
            raise _unavailable() from error


def _unavailable() -> EngineUnavailableError:
    return EngineUnavailableError("The durable engine cannot be reached. Try again.")
