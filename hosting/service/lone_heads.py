"""Logs that are a head alone, without events: what changes as a whole, and leaves nothing of what it was.

Whoever changes one reads it, decides, and puts what it comes to in the place of what was read. If somebody else came
first, they read again. What such a log says is in one place, so what is taken out of it is gone, once the store
has left it in none of its files: whoever takes something out calls `ThreadStore.scrub` then.
"""

from __future__ import annotations

import asyncio

from hosting.errors import LogUnavailableError
from hosting.names import Address, new_id
from hosting.stores.contract import Append, Appended, Conflict, StoredHead, ThreadStore

_TRIES = 5
_PAUSE_SECONDS = 0.05


async def replace_head(
    store: ThreadStore, address: Address, known: StoredHead | None, payload: bytes
) -> Appended | Conflict:
    """Return what came of putting a payload in the place of the known head's, None where there is none.

    Raises `LogUnavailableError` where that is not known, and `ValueError` for a payload that no head takes.
    """
    append = Append(StoredHead(0 if known is None else known.position, new_id(), payload))
    for _ in range(_TRIES):
        outcome = await store.append(address, known, append)
        if isinstance(outcome, Appended | Conflict):
            return outcome
        await asyncio.sleep(max(outcome.retry_after_seconds, _PAUSE_SECONDS))
    raise LogUnavailableError()


async def remove_head(store: ThreadStore, address: Address) -> None:
    """Remove a log with all that it holds. Raises `LogUnavailableError`, also where others change it each time."""
    for _ in range(_TRIES):
        known = await store.head(address)
        if known is None:
            await store.scrub()  # a call before this one may have removed it, and was broken off
            return
        if await store.forget(address, known):
            return
    raise LogUnavailableError("Many change this at once. Try again.")
