"""An app as several processes, as Azure runs it: some take requests, one has the entities and looks for work each
second. What that adds to a turn, how words come, how much two of those that take requests carry, and how often a turn
asks the storage."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from benchmarks.app_folder import MEASURED, ROOT, copied
from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.host_process import DEVHOST, HostProcess, hosted
from benchmarks.measures.clients import converse
from benchmarks.measures.fresh import PLAIN, fresh_turns
from benchmarks.measures.streams import words_in
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import WarmHost, warm_host, warmed
from tests.support.azurite import LOCK, Azurite
from tests.support.node_packages import RegistryUnreachableError, install

WORDS_PER_SECOND = 50
WORDS = 50
QUEUE_POLL_SECONDS = 1
BEHIND_SECONDS = 5 * QUEUE_POLL_SECONDS
"""After a turn's answer its entity has done all that it does by then."""
HTTP = (*DEVHOST, "--group", "http")
DURABLE = (*DEVHOST, "--group", "durable", "--queue-poll", str(QUEUE_POLL_SECONDS))


async def measure(sizes: Sizes) -> Result:
    """Turns by both kinds of host, in turn; then words of streams one after the other; then all that needs Azurite."""
    async with two_processes(sizes) as apart, warm_host(sizes) as whole, apart.process.connection() as connection:
        waited, alone = await paired(connection, whole, sizes.log_turns)
        streams = [await words_of(connection) for _ in range(sizes.streamed_runs)]
    first = [came_at - text for (came_at, text), *_ in streams]
    gaps = [max(later - earlier for (earlier, _), (later, _) in pairwise(words)) for words in streams]
    figures = (
        milliseconds("waited turn, p50", waited),
        milliseconds("in one process, p50", alone),
        Figure("waited turn over one process", waited / alone),
        milliseconds("first word, p50", median(first)),
        milliseconds("first word, slowest", max(first)),
        milliseconds("longest gap of a stream, p50", median(gaps)),
        milliseconds("longest gap of all", max(gaps)),
    )
    return Result((*figures, *await over_tables(sizes)), apart.empty_route_seconds)


@asynccontextmanager
async def two_processes(sizes: Sizes) -> AsyncIterator[WarmHost]:
    """Yield the warm host of HTTP functions; beside it runs the one of the durable ones."""
    with copied(MEASURED) as folder:
        async with hosted(folder, DURABLE), hosted(folder, HTTP) as front, warmed(front, sizes) as host:
            yield host


async def paired(connection: Connection, whole: WarmHost, turns: int) -> tuple[float, float]:
    """Return the p50 of a turn on the connection, and of one by the whole host, in seconds."""
    async with whole.process.connection() as other:
        samples = [
            (*await fresh_turns(connection, PLAIN, 1), *await fresh_turns(other, PLAIN, 1)) for _ in range(turns)
        ]
    one, another = zip(*samples, strict=True)
    return median(one), median(another)


async def words_of(connection: Connection) -> Sequence[tuple[float, float]]:
    """Return when each word of a stream came, and when the model said it."""
    body = json.dumps({"message": f"speak {WORDS} {WORDS_PER_SECOND}"}).encode()
    answer = await connection.request("POST", "/api/agents/timed/run", body, accept="text/event-stream")
    words = list(words_in(answer))
    if len(words) != WORDS:
        raise WrongAnswerError(f"A stream of {WORDS} words had {len(words)}.")
    return words


async def over_tables(sizes: Sizes) -> tuple[Figure, ...]:
    """Return what is measured over tables; nothing where Azurite is not to be had."""
    with suppress(RegistryUnreachableError), emulator() as azurite:
        return (*await calls_before_answers(azurite, sizes), *await three_processes(azurite, sizes))
    return ()


@contextmanager
def emulator() -> Iterator[Azurite]:
    """Yield an Azurite; raises `RegistryUnreachableError` where it cannot be installed."""
    with tempfile.TemporaryDirectory() as folder:
        azurite = Azurite(install(LOCK, ROOT / ".pytest_cache" / "d" / "azurite"), Path(folder))
        try:
            yield azurite
        finally:
            azurite.stop()


def settings_of(azurite: Azurite, hub: str) -> Mapping[str, str]:
    """Return the settings of an app whose log is in that account, in a table of its own."""
    hub_name = {"AzureFunctionsJobHost__extensions__durableTask__hubName": hub}
    return {"AGENT_LOG": "tables", "AzureWebJobsStorage": azurite.connection_string, **hub_name}


async def calls_before_answers(azurite: Azurite, sizes: Sizes) -> tuple[Figure, ...]:
    """Return how often a turn asks the tables before its answer.

    No process has the entities meanwhile, whose calls come behind the answer.
    """
    with copied(MEASURED) as folder:
        async with hosted(folder, HTTP, settings_of(azurite, "before")) as host, host.connection() as connection:
            await fresh_turns(connection, PLAIN, sizes.warm_up_turns)
            await take_turn(connection, "assistant", PLAIN, "warm")
            new = await calls_of(azurite, connection, sizes.log_turns, None)
            warm = await calls_of(azurite, connection, sizes.log_turns, "warm")
    return Figure("storage calls, new thread", new), Figure("storage calls, warm thread", warm)


async def three_processes(azurite: Azurite, sizes: Sizes) -> tuple[Figure, ...]:
    """Return what two processes for HTTP and one that has the entities carry, and the calls of whole turns."""
    settings = settings_of(azurite, "three")
    with copied(MEASURED) as folder:
        async with (
            hosted(folder, DURABLE, settings),
            hosted(folder, HTTP, settings) as one,
            hosted(folder, HTTP, settings) as other,
            warmed(one, sizes),
            warmed(other, sizes),
        ):
            turns_per_second = await clients_of((one, other), sizes)
            wall_seconds = await slow_runs_of((one, other), sizes)
            async with one.connection() as connection:
                instant = await all_calls_of(azurite, connection, "assistant", PLAIN, sizes.long_waits)
                slow = f"wait {sizes.slow_seconds}"
                waited = await all_calls_of(azurite, connection, "timed", slow, sizes.long_waits)
    return (
        Figure("tables: 16 clients", turns_per_second, "turns/s"),
        Figure("tables: 200 runs of 2 s", wall_seconds, "s"),
        Figure("tables: calls, instant turn", instant),
        Figure("tables: calls, turn of 2 s", waited),
    )


@asynccontextmanager
async def connections_to(hosts: Sequence[HostProcess], count: int) -> AsyncIterator[list[Connection]]:
    """Yield so many connections, to each host as many."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(host.connection())
            for host in itertools.islice(itertools.cycle(hosts), count)
        ]


async def clients_of(hosts: Sequence[HostProcess], sizes: Sizes) -> float:
    """Return how many turns a second clients get who each send the next one when they have their answer."""
    async with connections_to(hosts, sizes.clients) as connections:
        began = time.perf_counter()
        end = began + sizes.clients_seconds
        clients = (converse(connection, f"client-{n}", end) for n, connection in enumerate(connections))
        turns = sum(map(len, await asyncio.gather(*clients)))
        return turns / (time.perf_counter() - began)


async def slow_runs_of(hosts: Sequence[HostProcess], sizes: Sizes) -> float:
    """Return the seconds until all of many runs of a slow model are answered, which begin at once."""
    async with connections_to(hosts, sizes.slow_runs) as connections:
        began = time.perf_counter()
        message = f"wait {sizes.slow_seconds}"
        await asyncio.gather(*(take_turn(connection, "timed", message) for connection in connections))
        return time.perf_counter() - began


async def all_calls_of(azurite: Azurite, connection: Connection, agent: str, message: str, turns: int) -> float:
    """Return how many calls each of so many turns on new threads made, until its entity had done all that it does."""
    await asyncio.sleep(BEHIND_SECONDS)
    position = azurite.position()
    for _ in range(turns):
        await take_turn(connection, agent, message)
    await asyncio.sleep(BEHIND_SECONDS)
    return len(azurite.calls_since(position)) / turns


async def calls_of(azurite: Azurite, connection: Connection, turns: int, thread_id: str | None) -> float:
    """Return how many calls each of so many turns made."""
    position = azurite.position()
    for _ in range(turns):
        await take_turn(connection, "assistant", PLAIN, thread_id)
    return len(azurite.calls_since(position)) / turns
