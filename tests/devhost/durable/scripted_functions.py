"""`DurableFunctions` that a test scripts: entities that wait for the test, fail, or answer what they are told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from devhost.ports import DurableKind

Answer = Callable[[dict[str, Any]], Awaitable[str]]


class ScriptedEntities:
    """An app of entities alone; each invocation's payload goes through `answer`."""

    def __init__(self, answer: Answer, *names: str) -> None:
        self._answer = answer
        self._names = names or ("counter",)

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return {name: name for name in self._names} if kind == "entity" else {}

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        return await self._answer(json.loads(payload))


class Journal:
    """An entity that keeps the names of its operations in order, and can be held inside one."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.running = 0
        self.most_running = 0

    async def answer(self, payload: dict[str, Any]) -> str:
        names = [operation["name"] for operation in payload["batch"]]
        self.batches.append(names)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        self.started.set()
        await self.may_end.wait()
        self.running -= 1
        return entity_answer(json.loads(payload["state"] or "[]") + names, len(names))


def entity_answer(state: object, operations: int = 1, **more: object) -> str:
    """Return an answer that keeps this state and has an empty result for each operation."""
    results = [{"isError": False, "duration": 0, "startTime": 0, "result": "null"}] * operations
    answer = {"entityExists": True, "entityState": json.dumps(state), "results": results, "signals": []}
    return json.dumps(answer | more)
