"""All that one owner has with an app's agents: exported page by page, and deleted, each with its receipt.

Theory. A deletion of everything is the deletions of each thread, which are durable by themselves: what was begun is
finished whatever dies, and the caller again continues with what is left. It ends when a list has nothing alive any
more, so a thread that was begun meanwhile goes too. Receipts stand in the tombstones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from hosting.errors import ThreadDeletingError, UnknownThreadError
from hosting.names import Address
from hosting.ports import EntityClient
from hosting.runner.thread_log import ThreadLog
from hosting.service.deletion import Receipt
from hosting.service.threads import ThreadExport, Threads

_AT_ONCE = 8
_PAGE = 100


@dataclass(frozen=True)
class ErasedOwner:
    """The owner's threads that are gone, with their receipts; `is_complete` where none is left."""

    threads: tuple[tuple[Address, Receipt], ...]
    is_complete: bool


class Owners:
    """Reads and erases everything of one owner, with the agents whose names `agents` gives."""

    def __init__(self, log: ThreadLog, threads: Threads, agents: Callable[[], Iterable[str]]) -> None:
        self._log = log
        self._threads = threads
        self._agents = agents

    async def export(
        self, owner: str, after: tuple[str, str], limit: int, client: EntityClient
    ) -> tuple[list[ThreadExport], tuple[str, str] | None]:
        """Return the owner's next threads after that agent and id, and the last one's where there are more.

        Raises what `Threads.export` does; a thread that was deleted meanwhile is left out.
        """
        found: list[ThreadExport] = []
        async for address, state in self._listed(owner, after):
            if state == "open" and len(found) == limit:
                last = found[-1].view.address
                return found, (last.agent, last.thread_id)
            if state == "open":
                with suppress(UnknownThreadError, ThreadDeletingError):
                    found.append(await self._threads.export(address, client))
        return found, None

    async def erase(self, owner: str, client: EntityClient, seconds: float) -> ErasedOwner:
        """Delete all of the owner's threads, and return the receipts of those that are gone.

        After so many seconds what is left continues by itself, or with the next call. Raises as `Threads.delete` does.
        """
        clock = asyncio.get_running_loop().time
        end, gate = clock() + seconds, asyncio.Semaphore(_AT_ONCE)

        async def delete(address: Address) -> bool:
            async with gate:
                return await self._threads.delete(address, client, max(0.0, end - clock()))

        is_complete = False
        while not is_complete and clock() < end:
            alive = [address async for address, state in self._listed(owner) if state != "deleted"]
            is_complete = not alive
            if not all(await asyncio.gather(*map(delete, alive))):
                break
        deleted: list[tuple[Address, Receipt]] = []
        for address in [one async for one, state in self._listed(owner) if state == "deleted"]:
            with suppress(UnknownThreadError, ThreadDeletingError):  # it has begun anew meanwhile
                deleted.append((address, await self._threads.receipt(address)))
        return ErasedOwner(tuple(deleted), is_complete)

    async def _listed(self, owner: str, after: tuple[str, str] = ("", "")) -> AsyncIterator[tuple[Address, str]]:
        """Iterate over the owner's threads that the log knows after that agent and id, each with its state."""
        for agent in sorted(name.lower() for name in self._agents()):
            thread_id = after[1] if agent == after[0] else ""
            page = [] if agent < after[0] else await self._log.threads(agent, owner, thread_id, _PAGE)
            while page:
                for address, head in page:
                    yield address, head.state
                page = await self._log.threads(agent, owner, page[-1][0].thread_id, _PAGE)
