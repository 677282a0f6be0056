"""Logs with a head and no events: values that change as a whole, without a history.

Theory. Whoever changes one reads it, decides, and puts what it comes to in the place of what was read. If somebody else
came first, they decide again on what that one left. Each time one of them wins, so nobody gives up for it: only a store
that gives no answer within the log's patience ends a change. Those of one process take turns, for each would cost the
others a call of the store.

What such a log says is in one place, so what is taken out of it is gone, once the store has left it in none of its
files: whoever takes something out calls `ThreadStore.scrub` then.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from hosting.names import Address, new_id
from hosting.runner.thread_log import ThreadLog
from hosting.runner.turns import Turns
from hosting.stores.contract import Append, Appended, Conflict, StoredHead, ThreadStore


class LoneHeads:
    """The lone heads of one store, for one event loop; each method raises `LogUnavailableError`."""

    def __init__(self, store: ThreadStore, log: ThreadLog) -> None:
        self.store = store
        self._log = log
        self._turns = Turns()

    def turn(self, address: Address) -> AbstractAsyncContextManager[None]:
        """Return the turn for changing a head, as `Turns.turn` says."""
        return self._turns.turn(address)

    async def read(self, address: Address) -> StoredHead | None:
        """Return the head as the store has it."""
        return await self._log.retried("read", address.agent, lambda: self.store.head(address))

    async def replace(self, address: Address, known: StoredHead | None, payload: bytes) -> Appended | Conflict:
        """Return the outcome of replacing the known head's payload, None if there is no head.

        Raises `ValueError` for a payload that no head takes.
        """
        append = Append(StoredHead(0 if known is None else known.position, new_id(), payload))
        answer: Appended | Conflict = await self._log.retried(
            "append", address.agent, lambda: self.store.append(address, known, append)
        )
        return answer

    async def remove(self, address: Address) -> None:
        """Remove a log with all that it holds."""
        async with self.turn(address):
            while (known := await self.read(address)) is not None:
                await self.store.forget(address, known)
            await self.store.scrub()  # a call before this one may have removed it, and was broken off
