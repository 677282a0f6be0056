"""What the core asks of features, each by a small protocol. `hosting.assembly` says which feature answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hosting.core.thread.head import Head
from hosting.names import Address
from hosting.ports import EntityClient


@dataclass(frozen=True)
class ThreadQuery:
    """Which threads: so many at most, after those of the page before, with ids that contain `search` in any case."""

    limit: int
    cursor: str | None = None
    search: str = ""


@dataclass(frozen=True)
class FoundThreads:
    """Threads with their heads, and where the next page begins, if there is one."""

    threads: tuple[tuple[Address, Head], ...]
    cursor: str | None


class NewestThreads(Protocol):
    """A list of threads in an order that no thread's log has: by their last change."""

    async def __call__(self, agent: str, owner: str, wanted: ThreadQuery, client: EntityClient) -> FoundThreads:
        """Return the owner's threads with the agent, the newest change first.

        Raises `EngineUnavailableError` and `LogUnavailableError`.
        """
