"""Appends as tests of stores of threads make them, and a whole thread as a store shows it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from hosting.core.stores.contract import Append, Appended, Row, StoredHead, ThreadStore
from hosting.names import Address

ADDRESS = Address("joker", "thread")
ELSEWHERE = Address("joker", "another")


def behind(known: StoredHead | None, *events: bytes, rows: tuple[Row, ...] = (), payload: bytes = b"head") -> Append:
    """Return an append, with an id of its own, of these events behind the known head."""
    before = known.position if known is not None else 0
    return Append(StoredHead(before + len(events), uuid.uuid4().hex, payload), events, rows)


async def write(
    store: ThreadStore,
    known: StoredHead | None,
    *events: bytes,
    rows: tuple[Row, ...] = (),
    payload: bytes = b"head",
    address: Address = ADDRESS,
) -> StoredHead:
    """Append these events, which nobody is in the way of, and return the new head."""
    outcome = await store.append(address, known, behind(known, *events, rows=rows, payload=payload))
    assert isinstance(outcome, Appended), outcome
    return outcome.head


async def texts(store: ThreadStore, after: int = 0, address: Address = ADDRESS) -> list[tuple[int, bytes]]:
    """Return the thread's events behind that position, each with its position."""
    return [(event.position, event.payload) for event in await store.events(address, after)]


async def whole(
    store: ThreadStore, names: Iterable[str] = (), address: Address = ADDRESS
) -> tuple[StoredHead | None, list[tuple[int, bytes]], list[Row | None]]:
    """Return the thread's head, its events and the rows of these names."""
    rows = [await store.row(address, name) for name in names]
    return await store.head(address), await texts(store, address=address), rows
