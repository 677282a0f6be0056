"""The entity that does what features have done behind a commit, at least once.

Theory. The entity of a thread sends its signals with the commit that applies a run's end to the document. So the engine
holds what is still to be done, through any crash, and a turn without such a feature has nothing to do with it. This
entity has no state, and a few keys for each operation: so operations that hang hold no more than so many of the host's
executions, and no run's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from hosting.core.entity.batch import Done, Operation, RefusedOperation, parse_batch, write_answer
from hosting.errors import InvalidFieldError
from hosting.ports import Clock, ClockClient

Operate = Callable[[Any, ClockClient], Awaitable[Any]]
"""Carries out an operation on its input, and returns its result; raises `InvalidFieldError` for another input."""


class FeatureEntity:
    """The entity `agent-callbacks`, with the `operations` of features by their names."""

    def __init__(self, turn: Callable[[], AbstractContextManager[None]], clock: Clock) -> None:
        """`turn` is entered for each batch, and may raise to have it delivered again."""
        self.operations: dict[str, Operate] = {}
        self._turn = turn
        self._clock = clock

    async def handle(self, payload: str, client: ClockClient) -> str:
        """Answer one batch of the host. Raises only to have it delivered again."""
        with self._turn():
            started_at = self._clock()
            results = [await self._operate(operation, client) for operation in parse_batch(payload).operations]
            return write_answer(None, results, started_at)

    async def _operate(self, operation: Operation, client: ClockClient) -> Done | RefusedOperation:
        operate = self.operations.get(operation.name.lower())
        if operate is None:
            known = ", ".join(self.operations)
            return RefusedOperation(f"The operation {operation.name[:80]!r} is not known. Known: {known}.")
        try:
            return Done(await operate(operation.value, client))
        except InvalidFieldError as error:
            return RefusedOperation(error.detail)
