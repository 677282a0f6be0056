"""Orchestrations of a running host, over its management API: start one, raise an event, wait for the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import httpx

GUARD_SECONDS = 5.0
SPEAKS_PROTOBUF = not version("azure-functions-durable").startswith("1.")
HOOKS = "/runtime/webhooks/durabletask"
Instance = dict[str, Any]


@dataclass(frozen=True)
class Instances:
    """The orchestrations of one host."""

    http: httpx.AsyncClient

    async def start(self, name: str, given: object, instance_id: str) -> None:
        """Start an instance as the client of the installed SDK does: that of 1.7 makes a JSON string of the text."""
        value = given if SPEAKS_PROTOBUF else json.dumps(given)
        answer = await self.http.post(f"{HOOKS}/orchestrators/{name}/{instance_id}", json=value)
        assert answer.status_code == 202, answer.text

    async def tell(self, instance_id: str, event: str, value: object) -> None:
        answer = await self.http.post(f"{HOOKS}/instances/{instance_id}/raiseEvent/{event}", json=value)
        assert answer.status_code == 202, answer.text

    async def ended(self, instance_id: str) -> tuple[str, Any]:
        """Return the status and output of an instance once it has ended, under the guard."""
        instance = await self._until(instance_id, lambda found: found.get("runtimeStatus") in ("Completed", "Failed"))
        return instance["runtimeStatus"], instance["output"]

    async def result(self, name: str, given: object, instance_id: str) -> tuple[str, Any]:
        """Start an instance and return its status and output once it has ended."""
        await self.start(name, given, instance_id)
        return await self.ended(instance_id)

    async def waits(self, instance_id: str, event_type: str) -> None:
        """Return once the instance's history has an event of this type."""
        await self._until(instance_id, lambda found: event_type in str(found.get("historyEvents")))

    async def history(self, instance_id: str) -> list[str]:
        """Return the types of an instance's events, in order."""
        found = await self._until(instance_id, lambda _: True)
        return [event["EventType"] for event in found["historyEvents"]]

    async def _until(self, instance_id: str, holds: Callable[[Instance], bool]) -> Instance:
        return await asyncio.wait_for(self._poll(instance_id, holds), GUARD_SECONDS)

    async def _poll(self, instance_id: str, holds: Callable[[Instance], bool]) -> Instance:
        while True:
            answer = await self.http.get(f"{HOOKS}/instances/{instance_id}?showHistory=true")
            if answer.status_code in (200, 202) and holds(found := dict(answer.json())):
                return found
            await asyncio.sleep(0.01)
