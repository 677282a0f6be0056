"""The most recently used records, up to a total weight, so that memory does not grow with finished work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class RecentlyUsed(Generic[_Key, _Value]):
    """Holds values by key and lets go of those used longest ago when all together weigh too much."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._weight = 0
        self._entries: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: _Key) -> _Value | None:
        """Return the value, which counts as used now, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: _Key, value: _Value, weight: int) -> None:
        """Hold the value; one that is heavier than everything allowed is not held."""
        self.drop(key)
        self._entries[key] = (value, weight)
        self._weight += weight
        while self._weight > self._capacity:
            _, (_, lost) = self._entries.popitem(last=False)
            self._weight -= lost

    def drop(self, key: _Key) -> None:
        """Let go of the value; nothing when it is not held."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry[1]
