"""The entity that keeps which stores the instances of a task hub have (`core.shared_store`).

An operation names its sender's store, and the instance that carries it out adds its own: so two instances are compared
wherever the hub has it run. It may be delivered again: a store that was seen twice was seen.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from hosting.core.entity.batch import Done, Operation, RefusedOperation, parse_batch, write_answer
from hosting.core.shared_store import MARK, SharedStore, Uses
from hosting.errors import StoreUnavailableError
from hosting.names import is_id
from hosting.ports import Clock

logger = logging.getLogger(__name__)


class StoreEntity:
    """The entity `agent-stores`."""

    def __init__(self, store: SharedStore, clock: Clock, turn: Callable[[], AbstractContextManager[None]]) -> None:
        """`turn` is entered for each batch, and may raise to have it delivered again."""
        self._store = store
        self._clock = clock
        self._turn = turn

    async def handle(self, payload: str) -> str:
        """Answer one batch of the host."""
        with self._turn():
            started_at, batch = self._clock(), parse_batch(payload)
            uses, results = Uses.of(batch.state), list[Done | RefusedOperation]()
            for operation in batch.operations:
                uses, result = await self._operate(uses, operation)
                results.append(result)
            return write_answer(uses.model_dump_json(), results, started_at)

    async def _operate(self, uses: Uses, operation: Operation) -> tuple[Uses, Done | RefusedOperation]:
        value = operation.value
        store = value.get("store") if isinstance(value, dict) else None
        if operation.name.lower() != MARK or not isinstance(store, str) or not is_id(store):
            return uses, RefusedOperation(f"The operation here is {MARK!r}, which takes 'store'.")
        try:
            own = await self._store.id()
        except StoreUnavailableError:  # an outage, of which the log has a line
            own = store
        now = self._clock()
        uses = uses.seen(store, now).seen(own, now)
        if uses.has_another(own, now):
            logger.error(
                "Instances of this app keep their threads in different stores. Give all of them the same AGENT_LOG."
            )
        return uses, Done()
