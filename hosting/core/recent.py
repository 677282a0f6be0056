"""A process's memory of threads: the newest of each kind, within so many bytes.

Theory. Each of these is a cache: the log and the stored documents are what is true, and whoever reads here compares
with them. What is kept is counted in bytes of memory and not in pieces, because a caller decides how large a piece is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """Values by key, for one event loop; the least recently used go if all together take over `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._held: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def get(self, key: _Key) -> _Value | None:
        """Return the value, which counts as used now, or None."""
        held = self._held.get(key)
        if held is None:
            return None
        self._held.move_to_end(key)
        return held[0]

    def keep(self, key: _Key, value: _Value, size_bytes: int) -> None:
        """Remember the value, of so many bytes, instead of the one before; one that is too large is not kept."""
        self.forget(key)
        self._held[key] = (value, size_bytes)
        self._held_bytes += size_bytes
        while self._held_bytes > self._most_bytes:
            _, (_, dropped_bytes) = self._held.popitem(last=False)
            self._held_bytes -= dropped_bytes

    def forget(self, key: _Key) -> None:
        """Remember nothing of the key."""
        _, dropped_bytes = self._held.pop(key, (None, 0))
        self._held_bytes -= dropped_bytes
