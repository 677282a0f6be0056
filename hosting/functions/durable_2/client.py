"""The durable client of one invocation as our ports: that of the Durable Task SDK, kept for the process."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from weakref import WeakKeyDictionary

from azure.durable_functions import DurableFunctionsClient
from durabletask.entities import EntityInstanceId as EntityId
from msgspec.structs import force_setattr

from hosting.ports import Purge
from hosting.task_hub import TaskHubClient

__all__ = ["DurableClient", "EntityId", "sdk_client"]

_MEMBERS = ("taskHubName", "connectionName", "rpcBaseUrl", "requiredQueryStringParameters", "maxGrpcMessageSizeInBytes")
_kept: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Any]] = WeakKeyDictionary()


def sdk_client(text: str) -> str:
    """Return the text that the host gives for a client: `DurableClient` takes it as it is."""
    return text


class DurableClient(TaskHubClient, frozen=True):
    """A client that works on after its invocation, as a run does whose caller waits no longer.

    The SDK closes its own client with the invocation. This one has its address, and one channel for each event loop.
    """

    def __post_init__(self) -> None:
        """Take the kept client in place of the SDK's, or of the text that the host gives for one."""
        force_setattr(self, "sdk", _client_of(_configuration(self.sdk)))

    async def purge(self, instance_id: str) -> Purge:
        """Remove an instance; an entity's stays on Azure Storage until it is purged, and is not shown meanwhile."""
        if not instance_id.startswith("@"):
            return await super().purge(instance_id)
        return "deleted" if await self.purge_instance(instance_id) else "missing"


def _configuration(given: Any) -> str:
    values = json.loads(given) if isinstance(given, str) else vars(given)
    return json.dumps({name: values.get(name) for name in _MEMBERS})


def _client_of(configuration: str) -> Any:
    clients = _kept.setdefault(asyncio.get_running_loop(), {})
    if configuration not in clients:
        clients[configuration] = DurableFunctionsClient(configuration)
    return clients[configuration]
