"""Attachments in memory: for tests, and to say in few lines what a store must do."""

from __future__ import annotations

from collections.abc import Collection

from hosting.events import Place
from state.attached import Attachment


class MemoryAttachments:
    """An `AttachmentStore` of one process that ends with it."""

    def __init__(self) -> None:
        self._bodies: dict[Place, dict[str, bytes]] = {}

    async def put(self, place: Place, attachments: Collection[Attachment]) -> None:
        """See `AttachmentStore.put`."""
        self._bodies.setdefault(place, {}).update({one.sha256: one.body for one in attachments})

    async def read(self, place: Place, hashes: Collection[str]) -> dict[str, bytes]:
        """See `AttachmentStore.read`."""
        held = self._bodies.get(place, {})
        return {name: held[name] for name in hashes if name in held}

    async def hashes(self, place: Place) -> list[str]:
        """See `AttachmentStore.hashes`."""
        return sorted(self._bodies.get(place, {}))

    async def erase(self, place: Place) -> None:
        """See `AttachmentStore.erase`."""
        self._bodies.pop(place, None)

    async def close(self) -> None:
        """Forget nothing: a closed memory store may be read on."""
