"""The entities of features: the one that does what they have done behind a commit, and those with a state of their own.

Theory. The entity of a thread sends its signals with the commit that applies a run's end to the document. So the engine
holds what is still to be done, through any crash, and a turn without such a feature has nothing to do with it. The
entity that takes these signals has no state, and a few keys for each operation: so operations that hang hold no more
than so many of the host's executions, and no run's. Every operation is carried out at least once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from hosting.core.entity.batch import Done, Operation, RefusedOperation, parse_batch, write_answer
from hosting.core.hooks import ENTITY
from hosting.errors import InvalidFieldError
from hosting.feature import Entity, EntityOperation
from hosting.ports import Clock, ClockClient

Operate = Callable[[str | None, Any, ClockClient], Awaitable[tuple[str | None, Any]]]
"""Carries out an operation on the state and the input, and returns the next state and the operation's result."""


class FeatureEntities:
    """The entities of one app's features, by their names: the operations of each."""

    def __init__(self, turn: Callable[[], AbstractContextManager[None]], clock: Clock) -> None:
        """`turn` is entered for each batch, and may raise to have it delivered again."""
        self._operations: dict[str, dict[str, Operate]] = {ENTITY: {}}
        self._turn = turn
        self._clock = clock

    @property
    def names(self) -> list[str]:
        """The entities' names."""
        return list(self._operations)

    def add(self, declared: EntityOperation | Entity) -> str | None:
        """Take up what a feature declares, if it is new; return the name of the entity that the app has by it."""
        match declared:
            case EntityOperation(operation, run):
                entity, operate = ENTITY, _without_state(run)
            case Entity(entity, operation, change):
                operate = _with_state(change)
        operations = self._operations.setdefault(entity, {})
        is_first = not operations
        operations.setdefault(operation, operate)
        return entity if is_first else None

    async def handle(self, entity: str, payload: str, client: ClockClient) -> str:
        """Answer one batch of the host for an entity. Raises only to have it delivered again."""
        with self._turn():
            started_at, batch = self._clock(), parse_batch(payload)
            state, results = batch.state, list[Done | RefusedOperation]()
            for operation in batch.operations:
                state, result = await self._operate(entity, state, operation, client)
                results.append(result)
            return write_answer(state, results, started_at)

    async def _operate(
        self, entity: str, state: str | None, operation: Operation, client: ClockClient
    ) -> tuple[str | None, Done | RefusedOperation]:
        operations = self._operations[entity]
        operate = operations.get(operation.name.lower())
        if operate is None:
            known = ", ".join(operations)
            refusal = f"The operation {operation.name[:80]!r} is not known. Known: {known}."
            return state, RefusedOperation(refusal)
        try:
            state, value = await operate(state, operation.value, client)
        except InvalidFieldError as error:
            return state, RefusedOperation(error.detail)
        return state, Done(value)


def _without_state(run: Callable[[Any, ClockClient], Awaitable[Any]]) -> Operate:
    async def operate(state: str | None, value: Any, client: ClockClient) -> tuple[None, Any]:
        return None, await run(value, client)

    return operate


def _with_state(change: Callable[[str | None, Any], Awaitable[str]]) -> Operate:
    async def operate(state: str | None, value: Any, client: ClockClient) -> tuple[str, None]:
        return await change(state, value), None

    return operate
