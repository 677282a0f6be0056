"""Lists that are read page by page: to their end, or to the page that they led to before.

A service that gives a cursor twice would be asked for ever, by a reader who goes on while there is one. Whatever it
means by that, such a list cannot be read, and is an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from hosting.errors import EngineUnavailableError
from hosting.ports import EntityClient, EntityPage


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
