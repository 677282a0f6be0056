"""The search: threads found by words of their titles and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hosting.core.cells import Cells
from hosting.core.hooks import ThreadData
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import SearchUnavailableError
from hosting.feature import Feature, OwnerData, Upkeep
from hosting.http.verbs import ChangedThreads, FoundWords, ThreadQuery
from hosting.names import Address
from hosting.principal import Caller

if TYPE_CHECKING:
    from hosting.features.search.engine import SearchEngine
    from hosting.features.search.engine_search import EngineSearch
    from hosting.features.search.handed import HandedTexts
    from hosting.features.search.index import WordIndex
    from hosting.features.search.search import ThreadSearch

_CLOCKS = "search-"
"""No instance of the engine has an id that begins with it."""


class SearchFeature(Feature):
    """The search in the threads of one app. The lists of threads ask it; what it keeps begins with the first search."""

    name = "search"

    def __init__(
        self, cells: Cells, log: ThreadLog, threads: Threads, stores: Stores, engine: SearchEngine | None = None
    ) -> None:
        """Raise `ConfigurationError` for an `engine` that is none."""
        self._cells, self._log, self._threads, self._stores = cells, log, threads, stores
        self._engine = engine
        if engine is not None:
            from hosting.features.search.engine import check_engine

            check_engine(engine)

    @cached_property
    def _index(self) -> WordIndex:
        from hosting.features.search.index import WordIndex

        return WordIndex(self._cells, self._threads, self._stores)

    @cached_property
    def _handed(self) -> HandedTexts:
        from hosting.features.search.handed import HandedTexts

        return HandedTexts(self._engine, self._cells, self._log, self._stores)

    @cached_property
    def _search(self) -> ThreadSearch | EngineSearch:
        if self._engine is not None:
            from hosting.features.search.engine_search import EngineIndex, EngineSearch

            index = EngineIndex(self._handed, self._index, self._threads, self._stores)
            return EngineSearch(self._engine, index, self._log, self._threads)
        from hosting.features.search.search import ThreadSearch

        return ThreadSearch(self._index, self._log, self._threads)

    async def find(
        self, text: str, changed: Mapping[str, ChangedThreads], query: ThreadQuery, caller: Caller
    ) -> FoundWords:
        """Return the caller's threads with what the text means; see `FindsThreads`."""
        return await self._search.find(text, changed, query, caller)

    async def update(self, agent: str, changed: ChangedThreads, caller: Caller) -> None:
        """Look through what changed, where the app's own threads with the agent were searched; see `FindsThreads`."""
        if await self._index.is_searched(agent):
            await self._search.update(agent, changed, caller)

    async def owed(self) -> int | None:
        """Return of how many threads the app's engine has still to remove texts; see `FindsThreads`."""
        return None if self._engine is None else len(await self._handed.debts())

    def upkeep(self) -> Sequence[Upkeep]:
        """Return what has the engine of the app remove what it still owes."""
        if self._engine is None:
            return ()
        from hosting.features.search.handed import Debts

        return (Debts(self._handed),)

    def thread_data(self) -> ThreadData:
        """Return the words of a thread, which stand in a cell: they go with the thread, and with what is taken back."""

        async def nothing(address: Address, epoch: int) -> Any:
            return {}

        return ThreadData(
            prefixes=(),
            keeps_seconds=0.0,
            members={},
            export=nothing,
            counts={},
            erase=nothing,
            clocks=nothing,
            clock_prefix=_CLOCKS,
            drop=self._drop,
            forget=self._forget,
        )

    def owner_data(self) -> OwnerData:
        """Return the words of an owner's threads, which their export has already."""
        return OwnerData.of_threads(self._erase)

    async def close(self) -> None:
        """End what goes on behind answers."""
        if "_handed" in self.__dict__:
            await self._handed.close()
        if "_search" in self.__dict__:
            await self._search.close()

    async def _forget(self, address: Address) -> None:
        await self._index.erase(address)
        await self._handed.forget(address)
        if "_search" in self.__dict__:
            self._search.forget(address)

    async def _drop(self, address: Address, epoch: int) -> None:
        """Remove the words of a thread that was reset, or of which runs were replaced: a search makes them anew."""
        await self._forget(address)

    async def _erase(self, caller: Caller) -> None:
        forgotten = True
        for agent in await self._log.agents():
            await self._index.erase_all(agent, caller.owner)
            forgotten &= await self._handed.forget_all(agent, caller.owner)
        if not forgotten:
            raise SearchUnavailableError(
                "The app's search engine has not removed all texts of this owner. Send the request again in a minute."
            )
