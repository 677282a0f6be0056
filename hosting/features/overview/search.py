"""Threads found by words: in their ids, their titles and their newest messages.

Theory. No text of a thread is kept beside it, so a deleted thread leaves no word behind. What is looked through is the
threads themselves, when somebody asks: so only the newest ones are, and of each its newest messages. Ids are looked
through as far as the overview goes, which needs no read.
"""

from __future__ import annotations

from itertools import islice

from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.errors import ThreadDeletingError, UnknownThreadError, UnreadableStateError
from hosting.features.overview.overview import Overview, ThreadKey, gathered
from hosting.features.overview.routes import SEARCHED_MESSAGES, SEARCHED_THREADS
from hosting.http.verbs import FoundThreads, ThreadQuery
from hosting.names import Address
from hosting.ports import EntityClient
from hosting.principal import Caller
from state.conversation import exchanges, response_text

_AT_ONCE = 16


class ThreadSearch:
    """The search in the threads of one app; callers take turns."""

    def __init__(self, overview: Overview, log: ThreadLog, threads: Threads, reads: LargeReads) -> None:
        self._overview, self._log, self._threads, self._reads = overview, log, threads, reads

    async def find(self, agent: str, text: str, query: ThreadQuery, caller: Caller) -> FoundThreads:
        """Return the caller's threads with the agent that have the text, in whichever case, in the list's order.

        Raises `EngineUnavailableError` and `LogUnavailableError`.
        """
        keys = await self._overview.keys(agent, query, caller)
        read, text = frozenset(keys[:SEARCHED_THREADS]), text.casefold()
        rest = iter(self._overview.following(keys, query))
        found: list[ThreadKey] = []
        async with self._reads.turn(caller.owner):
            while len(found) <= query.limit and (part := list(islice(rest, _AT_ONCE))):
                matches = await gathered(self._has(key, text, caller, is_read=key in read) for key in part)
                found += [key for key, is_match in zip(part, matches, strict=True) if is_match]
        return await self._overview.page(found, query, caller)

    async def _has(self, key: ThreadKey, text: str, caller: Caller, *, is_read: bool) -> bool:
        """Return whether the thread has the text: its id first, which costs nothing, and its messages last."""
        address = Address.of(key.agent, key.thread_id, caller.owner)
        if text in key.thread_id.casefold():
            return True
        if not is_read:
            return False
        head = await self._log.head(address)
        return text in (head.name or head.title).casefold() or await self._has_text(address, text, caller.client)

    async def _has_text(self, address: Address, text: str, client: EntityClient) -> bool:
        try:
            view = await self._threads.view(address, client)
        except (UnknownThreadError, ThreadDeletingError, UnreadableStateError):
            return False  # it went meanwhile, or nobody can read it
        newest = list(exchanges(view.conversation))[-SEARCHED_MESSAGES:]
        return any(text in response_text(entry).casefold() for entry in newest)
