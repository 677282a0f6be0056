"""An app as two processes, as Azure runs it: one takes requests, the other has the entities and looks for work each
second. What that adds to a turn, how words come, and how often a turn asks the storage before its answer."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path

from benchmarks.app_folder import MEASURED, ROOT, copied
from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.host_process import DEVHOST, hosted
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
HTTP = (*DEVHOST, "--group", "http")
DURABLE = (*DEVHOST, "--group", "durable", "--queue-poll", str(QUEUE_POLL_SECONDS))


async def measure(sizes: Sizes) -> Result:
    """Turns by both kinds of host, by turns; then words of streams one after the other; then calls on Azurite."""
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
    return Result((*figures, *await storage_calls(sizes)), apart.empty_route_seconds)


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


async def storage_calls(sizes: Sizes) -> tuple[Figure, ...]:
    """Return how often a turn asks the tables before its answer; nothing where Azurite is not to be had.

    No process has the entities meanwhile, whose calls come behind the answer.
    """
    with tempfile.TemporaryDirectory() as emulated, copied(MEASURED) as folder, suppress(RegistryUnreachableError):
        azurite = Azurite(install(LOCK, ROOT / ".pytest_cache" / "d" / "azurite"), Path(emulated))
        try:
            settings = {"AGENT_LOG": "tables", "AzureWebJobsStorage": azurite.connection_string}
            async with hosted(folder, HTTP, settings) as host, host.connection() as connection:
                await fresh_turns(connection, PLAIN, sizes.warm_up_turns)
                await take_turn(connection, "assistant", PLAIN, "warm")
                new = await calls_of(azurite, connection, sizes.log_turns, None)
                warm = await calls_of(azurite, connection, sizes.log_turns, "warm")
        finally:
            azurite.stop()
        return Figure("storage calls, new thread", new), Figure("storage calls, warm thread", warm)
    return ()


async def calls_of(azurite: Azurite, connection: Connection, turns: int, thread_id: str | None) -> float:
    """Return how many calls each of so many turns made."""
    position = azurite.position()
    for _ in range(turns):
        await take_turn(connection, "assistant", PLAIN, thread_id)
    return len(azurite.calls_since(position)) / turns
