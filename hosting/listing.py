"""Lists that are read page by page: to their end, or to the page that they led to before.

A service that gives a cursor twice would be asked for ever, by a reader who goes on while there is one. Whatever it
means by that, such a list cannot be read, and is an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from hosting.errors import EngineUnavailableError

if TYPE_CHECKING:  # a command that asks a running app needs this module, and has no packages
    from hosting.ports import EntityClient, EntityPage

T = TypeVar("T")


@dataclass(frozen=True)
class Window:
    """Entries by their position, counted from 1: those between `after` and `before`, `limit` of them from one end."""

    limit: int
    after: int | None
    before: int | None
    is_newest_first: bool

    def span(self, total: int) -> tuple[int, int]:
        """Return the first and the last position of the window in a list of so many entries; first > last is none."""
        return (self.after or 0) + 1, total if self.before is None else min(total, self.before - 1)

    def first_of(self, low: int, high: int, count: int) -> tuple[int, int]:
        """Return the positions of the window's first `count` entries, of those from `low` to `high`."""
        return (max(low, high - count + 1), high) if self.is_newest_first else (low, min(high, low + count - 1))

    def ordered(self, items: Sequence[T]) -> Iterable[T]:
        """Return items, the oldest first, in the window's direction."""
        return reversed(items) if self.is_newest_first else items


class Cursors:
    """The cursors that one list has given, none of them twice."""

    def __init__(self) -> None:
        self._given = set[object]()

    def is_new(self, cursor: object) -> bool:
        """Take the cursor of the next page, and return whether the list may be asked for it."""
        is_new = cursor not in self._given
        self._given.add(cursor)
        return is_new


async def entity_pages(
    client: EntityClient,
    entity: str,
    limit: int,
    *,
    changed_until: float | None = None,
    changed_from: float | None = None,
) -> AsyncIterator[EntityPage]:
    """Yield the pages of the engine's entities as `EntityClient.list` has them, the last one without a cursor.

    Raises as that does, and where the engine gives a cursor again, so that the list would never end.
    """
    cursor: str | None = None
    cursors = Cursors()
    while True:
        page = await client.list(entity, limit, cursor, changed_until, changed_from)
        yield page
        cursor = page.cursor
        if cursor is None:
            return
        if not cursors.is_new(cursor):
            raise EngineUnavailableError(
                f"The durable engine's list of {entity!r} does not end: it repeats a page. Try again."
            )
