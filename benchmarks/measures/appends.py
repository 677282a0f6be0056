"""One append and one read of each store of threads' logs: time, processor and calls."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.app_folder import ROOT
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from hosting.core.stores.contract import Append, Appended, Row, StoredHead, ThreadStore
from hosting.core.stores.memory import MemoryThreadStore
from hosting.core.stores.redis import RedisThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.storage_account import table_account
from hosting.core.stores.tables import TablesThreadStore
from hosting.names import Address
from tests.support.azurite import LOCK, Azurite
from tests.support.node_packages import RegistryUnreachableError, install
from tests.support.redis_server import RedisServer, find_server

HUB = "Measured"
ADDRESS = Address.of("joker", "thread")
HEAD, EVENT, ROW = b"h" * 1000, b"e" * 500, b"r" * 100
WARM_UP = 20

Call = Callable[[], Awaitable[None]]
Open = Callable[[], AsyncIterator[tuple[Call, Call]]]


@dataclass
class Taken:
    """What many calls of one kind took: seconds of each, and for one in the middle of all processor and storage."""

    seconds: list[float] = field(default_factory=list)
    processor_seconds: float = 0.0
    storage_calls: float | None = None


async def measure(sizes: Sizes) -> Result:
    """Each store by itself, in this process; Azurite and Redis are others, where they can be had.

    An append is of two events of 500 bytes, a row and a head of 1,000. Raises WrongAnswerError for an append that is
    not done.
    """
    figures: list[Figure] = []
    with stores() as (found, azurite):
        for name, open_store in found.items():
            async with contextlib.asynccontextmanager(open_store)() as (append, read):
                await taken(append, WARM_UP, None)
                figures += shown(f"{name}: append", await taken(append, sizes.appends, azurite))
                figures += shown(f"{name}: read", await taken(read, sizes.appends, azurite))
    return Result(tuple(figures))


async def taken(call: Call, times: int, azurite: Azurite | None) -> Taken:
    """Make the call so often, one after another."""
    done = Taken()
    position = azurite.position() if azurite is not None else None
    processor = time.process_time()
    for _ in range(times):
        began = time.perf_counter()
        await call()
        done.seconds.append(time.perf_counter() - began)
    done.processor_seconds = (time.process_time() - processor) / times
    if azurite is not None and position is not None:
        done.storage_calls = len(azurite.calls_since(position)) / times
    return done


def shown(name: str, done: Taken) -> list[Figure]:
    """Return the figures of one kind of call; storage calls where there were any."""
    figures = [milliseconds(f"{name}, p50", median(done.seconds))]
    figures.append(milliseconds(f"{name}, processor", done.processor_seconds))
    return figures + ([Figure(f"{name}, calls", done.storage_calls)] if done.storage_calls else [])


@contextmanager
def stores() -> Iterator[tuple[dict[str, Open], Azurite | None]]:
    """Yield how each store that can be had here is opened, and the emulator whose calls are counted."""
    with contextlib.ExitStack() as servers:
        folder = Path(servers.enter_context(tempfile.TemporaryDirectory()))
        found: dict[str, Open] = {
            "memory": lambda: thread_log(MemoryThreadStore(HUB)),
            "SQLite": lambda: thread_log(SqliteThreadStore(folder / "threads.sqlite", HUB)),
        }
        azurite = None
        with contextlib.suppress(RegistryUnreachableError):
            azurite = Azurite(install(LOCK, ROOT / ".pytest_cache" / "d" / "azurite"), folder)
            servers.callback(azurite.stop)
            account = {"AzureWebJobsStorage": azurite.connection_string}
            found["tables"] = lambda: thread_log(TablesThreadStore(table_account(account, "benchmarks"), HUB))
        if (command := find_server()) is not None:
            redis = RedisServer(command, folder)
            servers.callback(redis.stop)
            found["Redis"] = lambda: thread_log(RedisThreadStore(redis.url, HUB))
        yield found, azurite


async def thread_log(store: ThreadStore) -> AsyncIterator[tuple[Call, Call]]:
    """Yield how to append to a thread, behind what was appended before, and how to read its head."""
    head: StoredHead | None = None

    async def append() -> None:
        nonlocal head
        position = (head.position if head is not None else 0) + 2
        new = StoredHead(position, f"append-{position}", HEAD)
        step = Append(new, (EVENT, EVENT), (Row(f"run-{position}", position - 1, ROW),))
        outcome = await store.append(ADDRESS, head, step)
        if not isinstance(outcome, Appended):
            raise WrongAnswerError(f"An append was answered {outcome!r}.")
        head = outcome.head

    async def read() -> None:
        if await store.head(ADDRESS) != head:
            raise WrongAnswerError("The head that was read is not the one that was appended.")

    yield append, read
    await store.close()
