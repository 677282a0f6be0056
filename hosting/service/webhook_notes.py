"""Notes of deliveries that are to be tried again, by which these are found when they are due, whichever process dies.

Theory. Stores list notes by their time, and nothing else finds what is due. A note lies among those of the whole app,
and its key has what a look must know without reading it: after how many tries it was put, which says how long the pause
is, and the receiver's host, so that many deliveries to one keep the others no look longer. The record of the delivery
counts (`service.deliveries`): a note that comes late finds more tries there, and is erased.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from hosting.names import Address, StoreKey
from hosting.ports import AFTER_ALL, AHEAD_SECONDS, Clock, ObjectStore
from hosting.service.deliveries import Deliveries, Delivery, WebhookOrder, not_taken_key
from hosting.service.places import WAITING_SECONDS, host_digest
from hosting.service.webhook_client import SECONDS

PAUSES = (30.0, 300.0, 1800.0, 7200.0, 18_000.0, 28_800.0, 28_800.0)
"""Seconds before each further try: the last comes after about a day."""

JITTER = 0.2
"""By up to so much of itself a pause is longer, another for each delivery: receivers that were away get no crowd."""

KEPT_SECONDS = WAITING_SECONDS + 2 * SECONDS
BEHIND_SECONDS = KEPT_SECONDS + 30.0
"""The time for which other processes leave a deferred order alone, and its delay: clocks of machines differ."""

MOST_AT_ONCE = 1000
MOST_OF_HOST = 100
"""Deliveries that one look finds due, and those at a host of which no receiver is prompt; the next finds the others."""

REMEMBERED_SECONDS = 600.0
"""The time in which a process does not signal the same order again."""

_NOTE = "order"
_BEHIND = "-behind"


class WebhookNotes:
    """The notes of the app whose hub is `hub`; each method raises `AttachmentsUnavailableError`.

    `is_prompt` says whether a receiver of a host (`host_digest`) is.
    """

    def __init__(self, attachments: ObjectStore, hub: str, wall: Clock, is_prompt: Callable[[str], bool]) -> None:
        self._attachments = attachments
        self._notes = _notes(hub)
        self._wall = wall
        self._is_prompt = is_prompt
        self._signalled: dict[tuple[str, float], float] = {}

    async def put(self, order: WebhookOrder, url: str, *, is_behind: bool = False) -> None:
        """Have it found when it is due, after the pause behind its tries or, where it is put behind, sooner."""
        key, fields = _note_key(order, url, is_behind=is_behind), replace(order, again=False, note="").fields()
        await self._attachments.put(StoreKey(self._notes, key), {_NOTE: json.dumps(fields).encode()})

    async def erase(self, order: WebhookOrder, before: Delivery | None = None) -> None:
        """Remove the note of an order that was carried out, if `before` it there was that record."""
        keys = {order.note} if order.note else set[str]()
        if before is not None and order.tries:
            keys.add(_note_key(order, before.url))
        if before is not None and before.behind_since is not None:
            keys.add(_note_key(order, before.url, is_behind=True))
        for key in sorted(keys):
            await self._attachments.erase(StoreKey(self._notes, key))

    async def due(self) -> list[WebhookOrder]:
        """Return the orders due for a try, without those returned lately; hosts take turns.

        A note of a clock that was ahead is due: nobody knows since when it is there, and its record counts.
        """
        now = self._wall()
        self._signalled = {note: at for note, at in self._signalled.items() if abs(now - at) < REMEMBERED_SECONDS}
        found, of_host = list[tuple[int, float, str]](), Counter[str]()
        for put_at, key in await self._attachments.put_between(self._notes, 0.0, AFTER_ALL):
            after, host, delivery = key.split("/", 2)
            pause = BEHIND_SECONDS if after.endswith(_BEHIND) else pause_seconds(int(after), delivery)
            if (key, put_at) in self._signalled or now < put_at + pause <= now + pause + AHEAD_SECONDS:
                continue
            of_host[host] += 1
            if of_host[host] <= MOST_OF_HOST or self._is_prompt(host):
                found.append((of_host[host], put_at, key))
        orders = list[WebhookOrder]()
        for _, put_at, key in sorted(found)[:MOST_AT_ONCE]:
            text = (await self._attachments.read(StoreKey(self._notes, key), [_NOTE])).get(_NOTE)
            order = None if text is None else WebhookOrder.of(json.loads(text))
            if order is not None:
                self._signalled[key, put_at] = now
                orders.append(replace(order, note=key))
        return orders

    def unsent(self, orders: Iterable[WebhookOrder]) -> None:
        """Make these due again at the next look: they were found, but not signalled."""
        notes = {order.note for order in orders}
        self._signalled = {note: at for note, at in self._signalled.items() if note[0] not in notes}


async def erase_marks(attachments: ObjectStore, hub: str, address: Address, epoch: int) -> None:
    """Erase the notes of one life of a thread, and the names of its undelivered ones.

    The records themselves go with the thread's attachments.
    """
    for delivery in await Deliveries(attachments, hub).all_of(address, epoch):
        order = WebhookOrder(address, delivery.run_id, delivery.target, len(delivery.tries))
        for is_behind in (False, True) if delivery.state == "waiting" else ():
            await attachments.erase(StoreKey(_notes(hub), _note_key(order, delivery.url, is_behind=is_behind)))
    await attachments.erase(not_taken_key(hub, address, epoch))


def next_try(address: Address, delivery: Delivery) -> float | None:
    """Return from when on a delivery is due for its next try (seconds since 1970); None where it has none."""
    if delivery.state != "waiting":
        return None
    if delivery.behind_since is not None:
        return delivery.behind_since + BEHIND_SECONDS
    if not delivery.tries:
        return None
    key = _delivery_key(address, delivery.run_id, delivery.target)
    return delivery.tries[-1].at + pause_seconds(len(delivery.tries), key)


def pause_seconds(tries: int, delivery: str) -> float:
    """Return how long a delivery waits after so many tries."""
    pause = PAUSES[min(max(tries, 1), len(PAUSES)) - 1]
    return pause * (1 + JITTER * (zlib.crc32(delivery.encode()) % 1000) / 1000)


def _notes(hub: str) -> str:
    return f"{hub}.webhooks"


def _note_key(order: WebhookOrder, url: str, *, is_behind: bool = False) -> str:
    after = f"{order.tries}{_BEHIND}" if is_behind else str(order.tries)
    return f"{after}/{host_digest(url)}/{_delivery_key(order.address, order.run_id, order.target)}"


def _delivery_key(address: Address, run_id: str, target: str) -> str:
    """Return a delivery's name among those of the whole app, whose callers may have chosen the run's id."""
    return f"{hashlib.sha256(address.key.encode()).hexdigest()[:16]}/{run_id}-{target}"
