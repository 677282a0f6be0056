"""What is left of a deletion for somebody with a durable client: to purge the instances that its receipt names.

One at a time and by id, never in bulk (host contract 0.5, 26). An instance that runs is left alone; what the engine
would not do now stays as it is in the receipt, and is tried again by whoever deletes the thread again.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from hosting.entity.receipt import Instance, decode, encode
from hosting.errors import EngineUnavailableError
from hosting.events import Place
from hosting.names import entity_name
from hosting.ports import EntityClient
from hosting.runlog.log import RunLog

logger = logging.getLogger(__name__)

_UNSETTLED = ("pending", "running")


class Settling:
    """Settles the receipts of one app's deletions."""

    def __init__(self, log: RunLog) -> None:
        self._log = log

    async def settle(self, place: Place, client: EntityClient) -> bool:
        """Purge what the receipt of the thread's deletion names; tell whether there is a receipt and nothing pending.

        Raises `LogUnavailableError`; an engine that cannot be reached leaves instances pending.
        """
        mark = await self._log.deletion(place)
        if mark is None or mark.receipt is None:
            return False
        receipt = decode(mark.receipt)
        instances = tuple([await self._purged(instance, place, client) for instance in receipt.instances])
        if instances != receipt.instances:
            settled = encode(receipt.model_copy(update={"instances": instances}))
            await self._log.settle(place, replace(mark, receipt=settled))
        return all(instance.outcome != "pending" for instance in instances)

    async def _purged(self, instance: Instance, place: Place, client: EntityClient) -> Instance:
        if instance.outcome not in _UNSETTLED:
            return instance
        try:
            if instance.id.startswith("@") and not await self._is_idle(place, client):
                return instance
            return Instance(id=instance.id, outcome=await client.purge(instance.id))
        except EngineUnavailableError:
            logger.warning("Instance %s of a deleted thread is not purged: the engine cannot be reached.", instance.id)
            return instance

    async def _is_idle(self, place: Place, client: EntityClient) -> bool:
        """Tell whether nothing has begun on the thread since: an entity is purged with what waits for it."""
        if await self._log.runs_of(place, 1):
            return False
        return await client.read(entity_name(place.agent), place.thread_id) is None
