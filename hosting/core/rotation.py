"""In which order a timer's work comes to the agents: to each in its turn, whatever cuts the work off.

Theory. Work for all agents may end after the first of them: its time is up, the agent's list fails, its process dies.
If it began with the same agent each time, the others would never have their turn. So before it comes to an agent, that
is recorded next to the attachments, and the next time begins with the agent after it, in whichever process. Nothing
else depends on the record. Where it cannot be read or written, the work is done in the order of the names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

from hosting.errors import AttachmentsUnavailableError
from hosting.names import StoreKey, store_space
from hosting.ports import ObjectStore

_LAST = "agent"


class Rotation:
    """The turn order for one kind of `work` in the app with the task hub `hub`."""

    def __init__(self, attachments: ObjectStore, hub: str, work: str) -> None:
        self._attachments = attachments
        self._store_key = StoreKey(store_space(hub, "swept"), work)

    async def turns(self, agents: Iterable[str]) -> AsyncIterator[tuple[str, bool]]:
        """Yield each agent, and whether it is the last one. An app's only agent has no turns, and nothing is stored."""
        names = sorted(agents)
        if len(names) > 1:
            last = await self._last()
            names = [name for name in names if name > last] + [name for name in names if name <= last]
        for place, name in enumerate(names, start=1):
            if len(names) > 1:
                with suppress(AttachmentsUnavailableError):
                    await self._attachments.put(self._store_key, {_LAST: name.encode()})
            yield name, place == len(names)

    async def _last(self) -> str:
        with suppress(AttachmentsUnavailableError):
            return (await self._attachments.read(self._store_key, [_LAST])).get(_LAST, b"").decode()
        return ""
