"""Which of several threads have changed, for a client that keeps what it has read of them.

A client reads a changed thread again, so changes that come while it is not listening are one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from hosting.core.care import Care, Pace
from hosting.core.following import StreamTime
from hosting.core.thread.events import TERMINALS, Accepted
from hosting.core.thread.head import Head
from hosting.core.thread.thread_events import Deleting, Reset
from hosting.core.thread_log import ThreadLog
from hosting.names import Address

_KINDS = (Accepted, *TERMINALS, Reset, Deleting)
_PACE = Pace(first=0.5, longest=5.0)
"""Slower than for a run's reader: it may go on for hours, and each thread costs a read."""


async def changed_threads(
    care: Care, log: ThreadLog, addresses: Iterable[Address], time: StreamTime
) -> AsyncGenerator[list[Address], None]:
    """Yield an empty list once it watches these threads, then those whose conversation has changed, each time.

    It ends with the time of its stream. Raises `LogUnavailableError`.
    """
    heads = {address: await log.head(address) for address in addresses}
    changed: dict[Address, None] = {}
    news = asyncio.Event()

    async def watch(address: Address, first: Head) -> None:
        state = _state(first)
        async with aclosing(care.heads(address, first, _KINDS, pace=_PACE, left=time.left)) as following:
            async for head in following:
                if _state(head) != state:
                    state = _state(head)
                    changed[address] = None
                    news.set()
                if time.is_over:
                    return

    watching = [asyncio.ensure_future(each) for each in (time.wait(), *(watch(*pair) for pair in heads.items()))]
    for task in watching:
        task.add_done_callback(lambda _: news.set())
    try:
        yield []
        while not time.is_over:
            await news.wait()
            news.clear()
            for task in watching:
                if task.done():
                    task.result()
            if changed:
                yield [*changed]
                changed.clear()
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


def _state(head: Head) -> tuple[object, ...]:
    """Return what changes with a thread's conversation: its requests and their ends, a reset and a deletion."""
    return head.epoch, head.state, head.resets, head.newest, len(head.runs)
