"""Threads as callers see them: read with what the log has and the document lacks, reset, deleted.

Theory. Whoever reads a thread is shown its document and the log behind it, so an answer is there as soon as it was
given. A reset and a deletion are events first: from then on they hold in every process, and a signal has the entity
carry them out. A reset is answered once its signal is taken, a deletion once its tombstone stands: nothing of the
thread can come back after that, whatever dies.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from hosting.address import Address
from hosting.errors import ThreadDeletingError, UnknownThreadError
from hosting.names import entity_name
from hosting.ports import EntityClient
from hosting.service.documents import Documents
from hosting.service.runs import FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS, LOOK_GROWTH
from hosting.stores.thread_log import ThreadLog
from hosting.thread.commands import Delete, Forget, Refused
from hosting.thread.events import Accepted, Deleted
from hosting.thread.head import Head
from hosting.thread.run import RunRecord, run_record
from state.models import Conversation


@dataclass(frozen=True)
class ThreadView:
    """One thread at a moment: its head, its conversation up to there, and its runs that the log still has."""

    address: Address
    head: Head
    conversation: Conversation
    runs: tuple[RunRecord, ...]


class Threads:
    """Reads threads and forgets them, for every surface."""

    def __init__(self, log: ThreadLog, documents: Documents) -> None:
        self._log = log
        self._documents = documents

    async def view(self, agent: str, thread_id: str, client: EntityClient) -> ThreadView:
        """Return a thread, its runs the oldest first.

        Raises `UnknownThreadError` when there is neither a conversation nor a run, `ThreadDeletingError` while it is
        being deleted, and as `Documents.at` does.
        """
        address = Address.of(agent, thread_id)
        head = await self._log.head(address)
        if head.state == "deleting":
            raise _deleting(thread_id)
        if head.state == "deleted":
            raise _unknown(agent, thread_id)
        if head.position == 0 and await client.read(entity_name(agent), thread_id) is None:
            raise _unknown(agent, thread_id)
        snapshot = await self._documents.at(address, head, client)
        events = await self._log.events(address, head.trimmed)
        ids = [event.run_id for _, event in events if isinstance(event, Accepted)]
        records = (run_record(run_id, events) for run_id in ids)
        return ThreadView(address, head, snapshot.conversation, tuple(record for record in records if record))

    async def reset(self, agent: str, thread_id: str, client: EntityClient) -> None:
        """Have the conversation forgotten; returns once that holds in every process and its signal is taken.

        Raises `UnknownThreadError` as `view` does, `ThreadDeletingError`, `EngineUnavailableError` and
        `LogUnavailableError`.
        """
        view = await self.view(agent, thread_id, client)
        asked = await self._log.ask(view.address, Forget(time.time()))
        if isinstance(asked.outcome, Refused):
            await self._signal_delete(view.address, client)
            raise asked.outcome.error
        await client.signal(entity_name(agent), thread_id, "reset", {"position": asked.head.reset_at})

    async def delete(self, agent: str, thread_id: str, client: EntityClient, seconds: float) -> bool:
        """Have the thread deleted, its open runs ended first; tell whether nothing of it can come back any more.

        False: that is still under way after so many seconds. A thread that is not there is deleted already. Raises
        `EngineUnavailableError` and `LogUnavailableError`.
        """
        address = Address.of(agent, thread_id)
        head = await self._log.head(address)
        if head.position == 0 and await client.read(entity_name(agent), thread_id) is None:
            return True
        asked = await self._log.ask(address, Delete(time.time()))
        if asked.head.state == "deleted":
            return True
        await self._signal_delete(address, client)
        return await self._is_buried(address, asked.head.epoch, seconds)

    async def receipt(self, agent: str, thread_id: str) -> dict[str, object]:
        """Return the receipt of the thread's last deletion, as JSON values.

        Raises `ThreadDeletingError` while that goes on, `UnknownThreadError` when there was none or it was removed.
        """
        address = Address.of(agent, thread_id)
        head = await self._log.head(address)
        if head.state == "deleting":
            raise _deleting(thread_id)
        found = [event for _, event in await self._log.events(address, 0) if isinstance(event, Deleted)]
        if not found:
            raise UnknownThreadError(f"Agent {agent!r} has no receipt of a deletion of thread {thread_id[:80]!r}.")
        return dict(found[-1].receipt)

    async def _is_buried(self, address: Address, epoch: int, seconds: float) -> bool:
        clock = asyncio.get_running_loop().time
        end, pause = clock() + seconds, FIRST_LOOK_SECONDS
        while (await self._log.head(address)).epoch == epoch:
            if (left := end - clock()) <= 0:
                return False
            await asyncio.sleep(min(pause, left))
            pause = min(pause * LOOK_GROWTH, LONGEST_LOOK_SECONDS)
        return True

    async def _signal_delete(self, address: Address, client: EntityClient) -> None:
        await client.signal(entity_name(address.agent), address.thread_id, "delete", {"logged": True})


def _deleting(thread_id: str) -> ThreadDeletingError:
    return ThreadDeletingError(f"Thread {thread_id[:80]!r} is being deleted. Ask again in a moment.")


def _unknown(agent: str, thread_id: str) -> UnknownThreadError:
    return UnknownThreadError(f"Agent {agent!r} has no thread {thread_id[:80]!r}. The first run on it makes it.")
