"""Conversations this process has lately written, so that the next turn of a thread does not parse them again."""

from __future__ import annotations

from collections import OrderedDict

from state.codec import read
from state.models import Conversation

_MOST_CHARACTERS = 8 * 1024 * 1024
_MOST_THREADS = 1000
"""A parsed thread weighs some 13 kB however short its text is; both bounds together keep the cache below 100 MB."""


class ThreadCache:
    """Parsed conversations by entity key, valid only for the very text they were parsed from.

    The text is compared on every read: another process, or a restored backup, is noticed and parsed afresh.
    """

    def __init__(self, most_characters: int = _MOST_CHARACTERS, most_threads: int = _MOST_THREADS) -> None:
        self._most_characters = most_characters
        self._most_threads = most_threads
        self._held = 0
        self._threads: OrderedDict[str, tuple[str, Conversation]] = OrderedDict()

    def read(self, key: str, text: str | None) -> Conversation:
        """Return the conversation of a stored text; raises what `state.codec.read` raises."""
        cached = self._threads.get(key)
        if cached is not None and cached[0] == text:
            return cached[1]
        return read(text)

    def keep(self, key: str, text: str, conversation: Conversation) -> None:
        """Remember what was just written; the longest unused threads make room."""
        self.forget(key)
        self._threads[key] = (text, conversation)
        self._held += len(text)
        while self._held > self._most_characters or len(self._threads) > self._most_threads:
            self.forget(next(iter(self._threads)))

    def forget(self, key: str) -> None:
        """Make as if the conversation had not been kept."""
        text, _ = self._threads.pop(key, ("", None))
        self._held -= len(text)
