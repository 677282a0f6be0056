"""Threads of 10 to 100,000 messages: what a turn and a page cost however much was said before."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.long_thread import LongThread, TurnTaken, long_thread
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError

PAGE, MIDDLE = 50, 500
FULL = 1000
"""Messages with which a document is as full as it will ever be."""

Threads: TypeAlias = Mapping[int, LongThread]


async def measure(sizes: Sizes) -> Result:
    """In this process, over SQLite files; the threads take turns, so that a busy moment meets all of them.

    Each is as long as it is said to be before its first turn. Raises WrongAnswerError when one does not count all its
    messages afterwards, or gives another page than was asked for.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        threads = {
            messages: await stack.enter_async_context(long_thread(folder / str(messages), messages))
            for messages in sizes.thread_messages
        }
        await take_turns(threads, sizes.thread_warm_up)
        taken = await take_turns(threads, sizes.thread_turns)
        peaks = {messages: await peak_bytes(thread) for messages, thread in threads.items()}
        for messages, thread in threads.items():
            require_all(thread, messages + 2 * (sizes.thread_warm_up + sizes.thread_turns + 1))
        pages = await take_pages(threads, sizes.thread_pages)
    figures = [figure for messages in threads for figure in shown(messages, taken[messages], pages[messages])]
    return Result((*figures, *compared(taken, peaks, pages)))


async def take_turns(threads: Threads, rounds: int) -> dict[int, list[TurnTaken]]:
    taken: dict[int, list[TurnTaken]] = {messages: [] for messages in threads}
    for _ in range(rounds):
        for messages, thread in threads.items():
            taken[messages].append(await thread.turn())
    return taken


async def take_pages(threads: Threads, rounds: int) -> dict[int, dict[str, float]]:
    """Return the p50 of each thread's pages in seconds."""
    taken: dict[int, dict[str, list[float]]] = {
        messages: {name: [] for name, _ in pages_of(messages)} for messages in threads
    }
    for _ in range(rounds):
        for messages, thread in threads.items():
            for name, after in pages_of(messages):
                taken[messages][name].append(await thread.page(after))
    return {messages: {name: median(seconds) for name, seconds in of.items()} for messages, of in taken.items()}


def pages_of(messages: int) -> Iterator[tuple[str, int]]:
    """Iterate over the pages that a thread of that length has: their names, and the position before each."""
    yield "page 1", 0
    if messages > PAGE * MIDDLE:
        yield f"page {MIDDLE}", PAGE * (MIDDLE - 1)
    yield "last page", max(0, messages - PAGE)


async def peak_bytes(thread: LongThread) -> int:
    """Return what one turn needs beside what is held between turns."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    await thread.turn()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


def require_all(thread: LongThread, messages: int) -> None:
    if thread.messages != messages:
        raise WrongAnswerError(f"A thread of {messages} messages counts {thread.messages}.")


def shown(messages: int, taken: list[TurnTaken], pages: Mapping[str, float]) -> Iterator[Figure]:
    yield milliseconds(f"{messages:,}: turn, p50", median([turn.seconds for turn in taken]))
    yield Figure(f"{messages:,}: document, read and written", mean_bytes(taken) / 1000, "kB")
    yield Figure(f"{messages:,}: archive calls in {len(taken)} turns", sum(turn.archive_calls for turn in taken))
    for name, seconds in pages.items():
        yield milliseconds(f"{messages:,}: {name}, p50", seconds)


def compared(
    taken: Mapping[int, list[TurnTaken]], peaks: Mapping[int, int], pages: Mapping[int, Mapping[str, float]]
) -> Iterator[Figure]:
    """Iterate over the ratios of the longest to a thread whose document was full for the first time."""
    longest = max(taken)
    over = f"{longest:,} over {FULL:,}"
    turn_seconds = {messages: median([turn.seconds for turn in taken[messages]]) for messages in (FULL, longest)}
    yield Figure(f"turn, {over}", turn_seconds[longest] / turn_seconds[FULL])
    yield Figure(f"bytes, {over}", mean_bytes(taken[longest]) / mean_bytes(taken[FULL]))
    yield Figure(f"memory of a turn, {over}", peaks[longest] / peaks[FULL])
    yield Figure("slowest page over fastest", max(pages[longest].values()) / min(pages[longest].values()))


def mean_bytes(taken: list[TurnTaken]) -> float:
    return sum(turn.document_bytes for turn in taken) / len(taken)
