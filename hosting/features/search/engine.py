"""`SearchEngine`: a search engine of the app's own, in place of the index that an app has by itself.

Theory. An engine keeps texts by their places and finds some of them. It decides what fits, and nothing else: which
threads a caller has, what an answer shows, what is to be handed over and what is to go is decided here. A call of it
may be made again at any time, by any process, and then has the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from hosting.errors import ConfigurationError
from hosting.features.search.phrases import Term


class ThreadPlace(Struct, frozen=True):
    """A thread: the agent's name in lower case, and the owner, who is `app` where nobody signs in."""

    owner: str
    agent: str
    thread_id: str


class ThreadText(Struct, frozen=True):
    """One text of a thread: its message at `position` from 1 on, or at 0 its title, and in a second line its id.

    `at` is the time of the message, or of the thread's last change, in seconds since 1970; 0.0 where that is not known.
    """

    thread: ThreadPlace
    position: int
    text: str
    at: float


class SearchQuery(Struct, frozen=True):
    """What to find, in texts of that owner and these agents alone: `most` texts, the best ones first.

    `text` is what was sent. `terms` are its words and phrases in lower case, which a text has to have all of; the last
    one may `begin` a longer word.
    """

    owner: str
    agents: Sequence[str]
    text: str
    terms: Sequence[Term]
    most: int


class SearchHit(Struct, frozen=True):
    """A text that was found, by its place."""

    thread: ThreadPlace
    position: int


class SearchEngine(Protocol):
    """An engine. Its methods may raise anything, which counts as "try again later", and are given some seconds each."""

    async def put(self, texts: Sequence[ThreadText]) -> None:
        """Keep these texts, of one thread, in place of those that are at their positions; return once that is sure."""

    async def remove(self, thread: ThreadPlace, through: int) -> None:
        """Remove what there is at positions 0 to `through` of the thread, and return once that is sure.

        It may be that nothing is there. Texts that were put a moment ago are to go too, so make their keys of their
        places: a search for them may not find them yet.
        """

    async def find(self, query: SearchQuery) -> Sequence[SearchHit]:
        """Return the texts that fit, the best one first; their threads are shown in this order."""


def check_engine(engine: object) -> None:
    """Raise `ConfigurationError` for an object that is no engine."""
    if isinstance(engine, type):
        raise ConfigurationError(f"search is a class, {engine.__name__!r}. Give an engine that is made of it.")
    missing = [name for name in ("put", "remove", "find") if not callable(getattr(engine, name, None))]
    if missing:
        raise ConfigurationError(
            f"search is of type {type(engine).__name__!r}, which has no method {' and no '.join(map(repr, missing))}. "
            "Give an engine with put, remove and find (docs/guides/search.md)."
        )
