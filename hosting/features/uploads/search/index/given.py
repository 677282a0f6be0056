"""An index that an app's author gives: whatever it raises is an index that is away, and no text of it gets out."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from hosting.errors import HostingError
from hosting.features.uploads.refusals import ChunkIndexUnavailableError
from hosting.features.uploads.search.index.contract import (
    ChunkIndex,
    ChunkQuery,
    FoundChunk,
    IndexedChunk,
    IndexSpace,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")


class GivenIndex:
    """A `ChunkIndex` over a given one. Raises `ChunkIndexUnavailableError` for all but a refused value."""

    def __init__(self, index: ChunkIndex) -> None:
        self.given = index

    async def add(self, space: IndexSpace, file_id: str, chunks: Sequence[IndexedChunk]) -> None:
        """See `ChunkIndex`."""
        await self._done(self.given.add(space, file_id, chunks))

    async def remove(self, space: IndexSpace, file_id: str) -> int:
        """See `ChunkIndex`."""
        return await self._done(self.given.remove(space, file_id))

    async def search(self, spaces: Sequence[IndexSpace], query: ChunkQuery) -> Sequence[FoundChunk]:
        """See `ChunkIndex`."""
        return await self._done(self.given.search(spaces, query))

    async def erase(self, space: IndexSpace) -> int:
        """See `ChunkIndex`."""
        return await self._done(self.given.erase(space))

    async def close(self) -> None:
        """See `ChunkIndex`."""
        await self._done(self.given.close())

    async def _done(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except (HostingError, ValueError):
            raise
        except Exception as error:  # the index is the app's, and may raise anything
            logger.warning("The index of %s failed (%s).", type(self.given).__name__, type(error).__name__)
            raise ChunkIndexUnavailableError from error
