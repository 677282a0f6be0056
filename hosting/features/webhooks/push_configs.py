"""A task's receivers, which its caller names by the task, before or while it works.

Theory. A task is made of runs, and whose receivers are to be notified of a run's end is not known when the run begins.
So its request has, instead of an address, which run began the task (`RunRequest.task_run`), and each delivery looks
here. What is kept lies beside the thread's attachments and goes with the thread, as records of deliveries do.
"""

from __future__ import annotations

import hashlib

from pydantic import BaseModel, ConfigDict

from hosting.core.thread_log import epoch_store_key
from hosting.features.webhooks.delivery import PUSH
from hosting.names import Address
from hosting.ports import ObjectStore

MOST_CONFIGS = 10
"""How many receivers a task may have."""


class PushConfig(BaseModel):
    """One receiver: its address, and its secrets for checking the sender. `credentials` are never shown."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""


class PushConfigs:
    """The receivers of the tasks of the app whose hub is `hub`; each method raises `AttachmentsUnavailableError`.

    A task is named by its thread in one of its lives, and the run that began it.
    """

    def __init__(self, attachments: ObjectStore, hub: str) -> None:
        self._attachments = attachments
        self._hub = hub

    async def put(self, address: Address, epoch: int, begun_by: str, config: PushConfig) -> None:
        """Store a receiver, replacing one of its id."""
        name = _names(begun_by) + _digest(config.id)
        await self._attachments.put(
            epoch_store_key(self._hub, address, epoch), {name: config.model_dump_json().encode()}
        )

    async def of_task(self, address: Address, epoch: int, begun_by: str) -> dict[str, PushConfig]:
        """Return the task's receivers by their ids, in the order in which they were named."""
        return {config.id: config for config in await self._begin(address, epoch, _names(begun_by))}

    async def of_thread(self, address: Address, epoch: int) -> tuple[PushConfig, ...]:
        """Return those of all tasks of a thread."""
        return await self._begin(address, epoch, PUSH)

    async def _begin(self, address: Address, epoch: int, prefix: str) -> tuple[PushConfig, ...]:
        """Return the receivers whose names begin so."""
        store_key = epoch_store_key(self._hub, address, epoch)
        names = await self._attachments.names(store_key, prefix)
        found = await self._attachments.read(store_key, names) if names else {}
        return tuple(PushConfig.model_validate_json(found[name]) for name in names if name in found)

    async def erase(self, address: Address, epoch: int, begun_by: str, config_id: str) -> None:
        """Remove a receiver."""
        await self._attachments.erase(
            epoch_store_key(self._hub, address, epoch), [_names(begun_by) + _digest(config_id)]
        )


def _names(begun_by: str) -> str:
    """Return how the names of a task's receivers begin, and no other task's."""
    return f"{PUSH}{_digest(begun_by)}-"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
