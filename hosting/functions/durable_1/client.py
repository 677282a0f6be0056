"""The durable client of one invocation as our ports, by the SDK's methods over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

import aiohttp
from azure.durable_functions import DurableOrchestrationClient, EntityId, OrchestrationRuntimeStatus
from msgspec import Struct

from hosting.errors import EngineUnavailableError
from hosting.ports import EntityEnd, EntityPage, OrchestrationStatus, Purge, utc

__all__ = ["DurableClient", "EntityId", "sdk_client"]

_SAFE = "@:"
"""Characters that a URL takes in a key as they are; the rest is escaped, because the SDK does not."""
_CURSOR_HEADER = "x-ms-continuation-token"
_ENDED = (
    OrchestrationRuntimeStatus.Completed,
    OrchestrationRuntimeStatus.Failed,
    OrchestrationRuntimeStatus.Canceled,
    OrchestrationRuntimeStatus.Terminated,
)
CALL_SECONDS = 10.0
"""The longest that the engine is waited for, as an append is: the SDK waits for four minutes, and a caller with it."""

T = TypeVar("T")


sdk_client = DurableOrchestrationClient
"""Makes the SDK's client of the text that the host gives for one."""


class DurableClient(Struct, frozen=True):
    """An `EntityClient` and `OrchestrationClient` over the durable client of one invocation.

    What the engine does not answer in `call_seconds` fails, and may be done all the same. It is asked once more where
    this process slept meanwhile: the engine may have answered in time.
    """

    sdk: DurableOrchestrationClient
    call_seconds: float = CALL_SECONDS

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Send a one-way operation. The SDK sends no body for falsy values, so `value` must be truthy."""
        named = EntityId(quote(entity), quote(key, safe=_SAFE))
        await self._reached(lambda: self.sdk.signal_entity(named, operation, value))

    async def read(self, entity: str, key: str) -> str | None:
        """Return the stored state as JSON text, or None.

        The engine sends it as a value; the text is written as an entity writes it, so that it has as many bytes.
        """
        found = await self._state(entity, key)
        is_none = not found.entity_exists or found.entity_state in (None, "")
        if is_none or EntityEnd.of(found.entity_state) is not None:
            return None
        return json.dumps(found.entity_state, ensure_ascii=False, separators=(",", ":"))

    async def ended(self, entity: str, key: str) -> EntityEnd | Literal["missing"] | None:
        """Return the end that the entity has committed, which the engine shows as a state although there is none."""
        found = await self._state(entity, key)
        return EntityEnd.of(found.entity_state) if found.entity_exists else "missing"

    async def _state(self, entity: str, key: str) -> Any:
        named = EntityId(quote(entity), quote(key, safe=_SAFE))
        return await self._reached(lambda: self.sdk.read_entity_state(named))

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        """Return a page by the documented HTTP API, because the SDK has no method for it.

        Without `fetchState` the engine leaves deleted entities out by itself.
        """
        # The SDK has no public name for its address; each of its own methods reads this attribute.
        base = self.sdk._orchestration_bindings.rpc_base_url
        bounds = {"lastOperationTimeFrom": changed_from, "lastOperationTimeTo": changed_until}
        limits = {name: utc(at) for name, at in bounds.items() if at is not None}
        url = f"{base}entities/{quote(entity)}?{urlencode({'top': limit, **limits})}"
        headers = {_CURSOR_HEADER: cursor} if cursor else {}

        async def page() -> tuple[list[dict[str, Any]], str | None]:
            async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
                answer.raise_for_status()
                items: list[dict[str, Any]] = await answer.json(content_type=None)
                return items, answer.headers.get(_CURSOR_HEADER) or None  # the real host's last page has an empty one

        items, following = await self._reached(page)
        return EntityPage(tuple((item["entityId"]["key"], item["lastOperationTime"]) for item in items), following)

    async def purge(self, instance_id: str) -> Purge:
        """Remove an instance. The SDK puts ids into URLs unescaped, and an empty one means all instances."""
        named = quote(instance_id, safe="@")
        if named.strip(".") == "":
            return "missing"
        if not instance_id.startswith("@"):
            status = (await self._reached(lambda: self.sdk.get_status(named))).runtime_status
            if status not in _ENDED:
                return "missing" if status is None else "running"
        purged = await self._reached(lambda: self.sdk.purge_instance_history(named))
        return "deleted" if purged.instances_deleted else "missing"

    async def start(self, name: str, instance_id: str, given: object) -> None:
        """Start an orchestration."""
        await self._reached(lambda: self.sdk.start_new(name, instance_id, given))

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        """Return the state of an orchestration, or None."""
        found = await self._reached(lambda: self.sdk.get_status(instance_id))
        if found.runtime_status is None:
            return None
        return OrchestrationStatus(instance_id, found.runtime_status.value, found.output, found.custom_status)

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send an event to an orchestration, once: a repeated one would be a second event."""
        await self._reached(lambda: self.sdk.raise_event(instance_id, event, value), again=False)

    async def terminate(self, instance_id: str) -> None:
        """End an orchestration."""
        await self._reached(lambda: self.sdk.terminate(instance_id, "it is no longer needed"))

    async def _reached(self, call: Callable[[], Awaitable[T]], *, again: bool = True) -> T:
        clock = asyncio.get_running_loop().time
        began_at = clock()
        try:
            return await asyncio.wait_for(call(), self.call_seconds)
        except Exception as error:
            if not again or clock() - began_at < 2 * self.call_seconds:
                raise _unavailable() from error
        try:
            return await asyncio.wait_for(call(), self.call_seconds)
        except Exception as error:
            raise _unavailable() from error


def _unavailable() -> EngineUnavailableError:
    return EngineUnavailableError("The durable engine cannot be reached. Try again.")
