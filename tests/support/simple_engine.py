"""A search engine of a test's: texts in memory, which it may lose its way to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hosting.app import SearchHit, SearchQuery, ThreadPlace, ThreadText
from hosting.features.search.phrases import line_of


class SimpleEngine:
    """An engine. While it `is_away` it raises; it waits at `put` for `let_go`, and answers whoever asks with `lies`."""

    def __init__(self) -> None:
        self.texts = dict[tuple[ThreadPlace, int], str]()
        self.calls = list[str]()
        self.is_away = False
        self.let_go = asyncio.Event()
        self.let_go.set()
        self.putting = asyncio.Event()
        self.lies = list[SearchHit]()

    async def put(self, texts: Sequence[ThreadText]) -> None:
        """Keep these texts."""
        self._call("put")
        self.putting.set()
        await self.let_go.wait()
        self.texts |= {(each.thread, each.position): each.text for each in texts}

    async def remove(self, thread: ThreadPlace, through: int) -> None:
        """Remove the texts at these positions."""
        self._call("remove")
        for position in range(through + 1):
            self.texts.pop((thread, position), None)

    async def find(self, query: SearchQuery) -> Sequence[SearchHit]:
        """Return the texts with all words and phrases."""
        self._call("find")
        hits = [
            SearchHit(thread, position)
            for (thread, position), text in self.texts.items()
            if thread.owner == query.owner
            and thread.agent in query.agents
            and all(f" {term.text}{'' if term.begins else ' '}" in line_of(text) for term in query.terms)
        ]
        return [*self.lies, *hits][: query.most]

    def _call(self, method: str) -> None:
        self.calls.append(method)
        if self.is_away:
            raise ConnectionError("secret text of the engine")
