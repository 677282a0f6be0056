"""A store of objects between the product and another one: it counts the calls, and fails as it is armed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping

from hosting.errors import StoreUnavailableError
from hosting.names import StoreKey
from hosting.ports import ObjectStore


class ArmedObjects:
    """An `ObjectStore` over another one. It may be away, or lose the answers of what it has put (`loses_answers`).

    `puts` are the names that were put, each put for itself.
    """

    def __init__(self, store: ObjectStore, unavailable: type[StoreUnavailableError]) -> None:
        self._store, self._unavailable = store, unavailable
        self.calls: Counter[str] = Counter()
        self.puts: list[list[str]] = []
        self.is_away = self.loses_answers = False

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        self._count("put")
        self.puts.append(list(objects))
        await self._store.put(store_key, objects)
        if self.loses_answers:
            raise self._unavailable("the answer is lost")

    async def read(self, store_key: StoreKey, names: Collection[str]) -> dict[str, bytes]:
        self._count("read")
        return await self._store.read(store_key, names)

    async def names(self, store_key: StoreKey, prefix: str = "") -> dict[str, float]:
        self._count("names")
        return await self._store.names(store_key, prefix)

    async def put_between(self, space: str, after: float, before: float) -> list[tuple[float, str]]:
        self._count("put_between")
        return await self._store.put_between(space, after, before)

    async def epochs(self, thread: StoreKey) -> list[int]:
        self._count("epochs")
        return await self._store.epochs(thread)

    async def erase(
        self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = math.inf
    ) -> None:
        self._count("erase")
        await self._store.erase(store_key, names, before=before)

    async def close(self) -> None:
        await self._store.close()

    def _count(self, call: str) -> None:
        self.calls[call] += 1
        if self.is_away:
            raise self._unavailable("the store is away")
