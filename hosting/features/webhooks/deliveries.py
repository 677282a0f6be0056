"""The deliveries of runs' ends to receivers: one record for each, and their lists.

Theory. A record lies beside the thread's attachments and goes with the thread. Which deliveries were tried and not
taken is known besides by one name for each, under a key for each thread of the app: only these are listed for all
threads together, and none of them is where receivers take what they get. The record counts. A name without one is left
of a process that died, and whoever lists it erases it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from hosting.core.thread_log import epoch_store_key
from hosting.features.webhooks.delivery import Delivery, WebhookOrder, is_target
from hosting.features.webhooks.records import RECORD
from hosting.names import Address, StoreKey, agent_in_key, key_prefix, store_space
from hosting.ports import ObjectStore

_AT_ONCE = 200


class DeliveryPage(Struct, frozen=True):
    """Deliveries, each with its thread, and where the next page begins, if there is one."""

    deliveries: tuple[tuple[Address, Delivery], ...]
    cursor: str | None


class Deliveries:
    """The records of the app whose task hub is `hub`. Each method raises `AttachmentsUnavailableError`."""

    def __init__(self, attachments: ObjectStore, hub: str) -> None:
        self._attachments = attachments
        self._hub = hub
        self._undelivered = store_space(hub, "not-taken")

    async def read(self, order: WebhookOrder, epoch: int) -> Delivery | None:
        """Return the delivery in that life of the thread, None if it was not tried."""
        return (await self._read(order.address, epoch, [order.name])).get(order.name)

    async def put(self, order: WebhookOrder, epoch: int, record: Delivery) -> None:
        """Store the delivery."""
        store_key = epoch_store_key(self._hub, order.address, epoch)
        await self._attachments.put(store_key, {RECORD + order.name: record.model_dump_json().encode()})

    async def mark(self, order: WebhookOrder, epoch: int, before: Delivery, record: Delivery) -> None:
        """Add it to the undelivered ones, or remove it. One that was delivered at once is never added."""
        store_key = not_taken_key(self._hub, order.address, epoch)
        if record.state != "delivered":
            await self._attachments.put(store_key, {order.name: json.dumps(order.fields()).encode()})
        elif len(record.tries) > 1 or before.held_until is not None:
            await self._attachments.erase(store_key, [order.name])

    async def of_thread(
        self, address: Address, epoch: int, limit: int, cursor: str | None = None, run_id: str | None = None
    ) -> DeliveryPage:
        """Return the deliveries of a thread, or of one run of it, by their names, after the cursor of the last page."""
        of_run = "" if run_id is None else f"{run_id}-"
        found = await self._attachments.names(epoch_store_key(self._hub, address, epoch), RECORD + of_run)
        known = (one[len(RECORD) :] for one in found if run_id is None or is_target(one[len(RECORD + of_run) :]))
        after = (name for name in sorted(known) if cursor is None or name > cursor)
        names = [name for name, _ in zip(after, range(limit + 1), strict=False)]
        records = await self._read(address, epoch, names[:limit])
        deliveries = tuple((address, records[name]) for name in names[:limit] if name in records)
        return DeliveryPage(deliveries, names[limit - 1] if len(names) > limit else None)

    async def all_of(self, address: Address, epoch: int) -> tuple[Delivery, ...]:
        """Return all of a thread's, by their names."""
        page = await self.of_thread(address, epoch, _AT_ONCE)
        found = page.deliveries
        while page.cursor is not None:
            page = await self.of_thread(address, epoch, _AT_ONCE, page.cursor)
            found += page.deliveries
        return tuple(delivery for _, delivery in found)

    async def clocks(self, address: Address, epoch: int) -> list[str]:
        """Return the latest clock of each of a thread's deliveries that ever had one, as instances of the engine."""
        with_clock = [one for one in await self.all_of(address, epoch) if one.clock is not None]
        return [WebhookOrder(address, one.run_id, one.target, clock=one.clock).instance for one in with_clock]

    async def unlist(self, address: Address, epoch: int) -> None:
        """Remove a thread's deliveries from the undelivered ones."""
        await self._attachments.erase(not_taken_key(self._hub, address, epoch))

    async def not_taken(
        self, agent: str, owner: str | None, limit: int, until: float, cursor: str | None = None
    ) -> DeliveryPage:
        """Return those of an agent that were tried until then and not taken, thread by thread, after the cursor.

        `owner` None is for everybody's threads.
        """
        prefix = f"{agent_in_key(agent.lower())}." if owner is None else key_prefix(agent.lower(), owner)
        thread, _, name = (cursor or "").rpartition("/")
        found = await self._attachments.put_between(self._undelivered, 0.0, until)
        keys = sorted(key for _, key in found if key.startswith(prefix) and key >= thread)
        deliveries = list[tuple[Address, Delivery]]()
        for key in keys:
            names = sorted(await self._attachments.names(StoreKey(self._undelivered, key)))
            for one in names:
                if key == thread and one <= name:
                    continue
                if len(deliveries) == limit:
                    return DeliveryPage(tuple(deliveries), cursor)
                cursor = f"{key}/{one}"
                if (delivery := await self._not_taken(key, one)) is not None:
                    deliveries.append(delivery)
        return DeliveryPage(tuple(deliveries), None)

    async def _not_taken(self, key: str, name: str) -> tuple[Address, Delivery] | None:
        """Return a listed delivery; one that no longer belongs into the list is erased from it."""
        store_key = StoreKey(self._undelivered, key)
        text = (await self._attachments.read(store_key, [name])).get(name)
        order = None if text is None else WebhookOrder.of(json.loads(text))
        record = None if order is None else await self.read(order, int(key.rpartition("/")[2]))
        if order is None or record is None or record.state == "delivered":
            await self._attachments.erase(store_key, [name])
            return None
        return order.address, record

    async def _read(self, address: Address, epoch: int, names: Sequence[str]) -> dict[str, Delivery]:
        store_key = epoch_store_key(self._hub, address, epoch)
        found = await self._attachments.read(store_key, [RECORD + name for name in names])
        return {name[len(RECORD) :]: Delivery.model_validate_json(text) for name, text in found.items()}


def not_taken_key(hub: str, address: Address, epoch: int) -> StoreKey:
    """Return where the names of those deliveries of a thread stand that were not taken."""
    return StoreKey(store_space(hub, "not-taken"), f"{address.key}/{epoch}")
