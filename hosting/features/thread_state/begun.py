"""Threads that begin without a run: noted before their first append, so that one without a signal is found.

Theory. The engine alone can list the threads of all owners, and it knows a thread from its first signal on. If a
process dies between the append and that signal, the thread is in no list, and its time never ends. So the thread is
noted beside the attachments before the append, and the note goes once the signal is taken. What is noted for longer
than a request lasts has lost its process. The work of twice a day signals for it. A thread that is there already needs
no note.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from msgspec.structs import astuple

from hosting.core.signals import Signals
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.names import Address, StoreKey, new_id, store_space
from hosting.ports import ClockClient

NOTED_SECONDS = 60.0
"""After so long the process that made a note is taken to be gone."""
_KEPT_SECONDS = 86_400.0
"""For so long a note is kept of a thread that is not there: its append may come yet."""
_NOTE = "begun"


class BegunThreads:
    """The notes of one app."""

    def __init__(self, log: ThreadLog, stores: Stores) -> None:
        self._log = log
        self._attachments = stores.attachments
        self._space = store_space(stores.hub, "put-noted")

    @asynccontextmanager
    async def beginning(self, address: Address) -> AsyncIterator[None]:
        """Enter the block that appends to the thread and has its signal taken; a new one is noted before it.

        If the block raises, the note stays: whatever it appended is found. Raises `AttachmentsUnavailableError` and
        `LogUnavailableError`.
        """
        if not await self._is_new(address):
            yield
            return
        key = StoreKey(self._space, f"{address.key}/{new_id()}")
        await self._attachments.put(key, {_NOTE: json.dumps(astuple(address)).encode()})
        yield
        with suppress(HostingError):  # a later look finds that nothing is to be done
            await self._attachments.erase(key)

    async def _is_new(self, address: Address) -> bool:
        """Return whether the engine may not know the thread yet."""
        head = self._log.remembered(address)
        if head is None or head.state != "open":
            head = await self._log.head(address)
        return head.position == 0 or head.state == "deleted"

    async def run(self, client: ClockClient) -> None:
        """Signal for the threads with old notes, and remove these.

        Raises `EngineUnavailableError`, `LogUnavailableError` and `AttachmentsUnavailableError`.
        """
        signals, now = Signals(self._log), self._log.clocks.wall()
        for noted_at, name in await self._attachments.put_between(self._space, 0.0, now - NOTED_SECONDS):
            key = StoreKey(self._space, name)
            for text in (await self._attachments.read(key, [_NOTE])).values():
                address = Address(*json.loads(text))
                head = await self._log.head(address)
                if head.position == 0 and noted_at > now - _KEPT_SECONDS:
                    continue
                if head.state == "open" and (written := max(head.put, head.described)):
                    await signals.store(address, written, client)
                await self._attachments.erase(key)
