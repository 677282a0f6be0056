"""The upkeep of files: it goes on with what a process left that died, and removes uploads that have expired."""

from __future__ import annotations

import logging

from hosting.core.stores.stores import Stores
from hosting.errors import HostingError
from hosting.features.uploads.records import Scope
from hosting.features.uploads.uploads import Uploads
from hosting.names import StoreKey, store_space
from hosting.ports import ClockClient, Clocks

logger = logging.getLogger(__name__)

LEFT_AFTER_SECONDS = 900.0
"""After this time what is due is no more in the hands of a request."""


class FilesUpkeep:
    """The upkeep of one app's files."""

    def __init__(self, uploads: Uploads, stores: Stores, clocks: Clocks) -> None:
        self._uploads, self._objects, self._clocks = uploads, stores.attachments, clocks
        self._due = store_space(stores.hub, "uploads-due")

    async def run(self, client: ClockClient) -> int:
        """Go on with all that is due, and return of how many files something is left."""
        before, left = self._clocks.wall() - LEFT_AFTER_SECONDS, 0
        for _, name in await self._objects.put_between(self._due, 0.0, before):
            key = StoreKey(self._due, name)
            due = [entry for entry, put_at in (await self._objects.names(key)).items() if put_at < before]
            for entry, scope in (await self._objects.read(key, due)).items() if due else ():
                left += not await self._resumed(Scope.of_text(scope), entry, client)
        return left

    async def _resumed(self, scope: Scope, name: str, client: ClockClient) -> bool:
        try:
            await self._uploads.carrying.resume(scope, name, client)
            return await self._uploads.lives.resume(scope, name, client)
        except HostingError as error:
            logger.warning("File %s is left as it is until the next upkeep: %s.", name, type(error).__name__)
            return False
