"""A store of threads' logs between the product and another one: it counts the calls, and fails as it is armed."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

from hosting.core.stores.contract import (
    MOST_POSITION,
    Append,
    AppendOutcome,
    Processes,
    StoredEvent,
    StoredHead,
    ThreadStore,
    Unknown,
)
from hosting.errors import LogUnavailableError
from hosting.names import Address

Failure = Literal["lost", "answer lost", "throttled"]


class ArmedStore:
    """A `ThreadStore` over another one. `fails` has what becomes of the next appends, in their order, and of the next
    reads so many as `failing_reads` says fail.

    `before_append` is awaited once before the next append, `before_events` before the next read of events, and
    `before_forget` before the next forgetting, so that somebody else comes first. One answer at a time can be held back
    (`holding`). A store that does not `push` says so of each watch.
    """

    batch_seconds = 0.1
    processes = Processes()

    def __init__(self, store: ThreadStore) -> None:
        self.inner = store
        self.calls: Counter[str] = Counter()
        self.events_read = 0
        self.fails: list[Failure] = []
        self.before_append: Callable[[], Awaitable[object]] | None = None
        self.before_events: Callable[[], Awaitable[object]] | None = None
        self.before_forget: Callable[[], Awaitable[object]] | None = None
        self.failing_reads = 0
        self.is_away = False
        self.fails_erasing = False
        self.pushes = True
        self._held: tuple[str, asyncio.Event, asyncio.Event] | None = None

    @contextlib.asynccontextmanager
    async def holding(self, call: str) -> AsyncIterator[None]:
        """Hold the answer of the next such call back: the block begins when it was carried out, and lets it go."""
        self._held = (call, asyncio.Event(), asyncio.Event())
        _, is_held, let_go = self._held
        await is_held.wait()
        yield
        let_go.set()

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        """Append, or fail as it is armed: an answer that is lost was carried out."""
        self.calls["append"] += 1
        await asyncio.sleep(0)  # others have their turn, as with every store that is not in memory
        before, self.before_append = self.before_append, None
        if before is not None:
            await before()
        failure = "lost" if self.is_away else self.fails.pop(0) if self.fails else None
        if failure in ("lost", "throttled"):
            return Unknown(retry_after_seconds=0.01 if failure == "throttled" else 0.0)
        answer = await self.inner.append(address, known, append)
        await self._hold("append")
        return Unknown() if failure == "answer lost" else answer

    async def head(self, address: Address) -> StoredHead | None:
        self._count("head")
        found = await self.inner.head(address)
        await self._hold("head")
        return found

    async def events(self, address: Address, after: int, through: int = MOST_POSITION) -> list[StoredEvent]:
        self._count("events")
        before, self.before_events = self.before_events, None
        if before is not None:
            await before()
        found = await self.inner.events(address, after, through)
        self.events_read += len(found)
        return found

    async def erase(self, address: Address, through: int) -> None:
        self._count("erase")
        if self.fails_erasing:
            raise LogUnavailableError()
        await self.inner.erase(address, through)

    async def forget(self, address: Address, known: StoredHead) -> bool:
        self._count("forget")
        before, self.before_forget = self.before_forget, None
        if before is not None:
            await before()
        return await self.inner.forget(address, known)

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        self._count("watch")
        return self.pushes and await self.inner.watch(address, after, seconds)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        call = getattr(self.inner, name)

        async def counted(*given: Any, **named: Any) -> Any:
            self._count(name)
            return await call(*given, **named)

        return counted

    async def close(self) -> None:
        await self.inner.close()

    async def _hold(self, call: str) -> None:
        if self._held is not None and self._held[0] == call:
            (_, is_held, let_go), self._held = self._held, None
            is_held.set()
            await let_go.wait()

    def _count(self, call: str) -> None:
        self.calls[call] += 1
        if self.failing_reads:
            self.failing_reads -= 1
            raise LogUnavailableError()
        if self.is_away:
            raise LogUnavailableError()
