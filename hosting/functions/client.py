"""The SDK's durable client as the port that the behaviour knows. The only file that names its methods."""

from __future__ import annotations

from azure.durable_functions import DurableOrchestrationClient, EntityId


class DurableEntityClient:
    """An `EntityClient` over the durable client of one invocation."""

    def __init__(self, client: DurableOrchestrationClient) -> None:
        self._client = client

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """See `EntityClient.signal`. The SDK sends no body for falsy values, so `value` must be truthy."""
        await self._client.signal_entity(EntityId(entity, key), operation, value)
