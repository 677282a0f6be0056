"""A queue of messages that the app drains, each by one run: by one process, and by two beside one with the entities."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping
from contextlib import suppress

from azure.core.exceptions import ResourceExistsError
from azure.storage.queue.aio import QueueClient

from benchmarks.app_folder import ROOT, copied
from benchmarks.figures import Figure, NotMeasuredError, Result
from benchmarks.host_process import DEVHOST, hosted
from benchmarks.measures.fresh import PLAIN
from benchmarks.measures.groups import DURABLE, emulator
from benchmarks.sizes import Sizes
from benchmarks.warm_up import warm_host
from tests.support.node_packages import RegistryUnreachableError

PARTS = (ROOT / "benchmarks" / "queue_app" / "function_app.py", ROOT / "host.json")
LISTENING = (*DEVHOST, "--group", "function:inbox")
AHEAD = 200
"""So many messages are in the queue at most: Azurite looks at each message of its account for each of its calls."""
AT_ONCE = 8
BY_ONE = 5
"""One process gets one of so many messages of what two processes get."""


async def measure(sizes: Sizes) -> Result:
    """Drain the same kind of messages by one process, then by two."""
    try:
        with emulator() as azurite:
            settings = {"AzureWebJobsStorage": azurite.connection_string, "AGENT_LOG": "sqlite"}
            async with warm_host(sizes, {**settings, "INBOX": "one"}, PARTS) as host:
                alone = await drained(azurite.connection_string, "one", max(1, sizes.drained_messages // BY_ONE))
            apart = await drained_by_two(sizes, {**settings, "INBOX": "two"})
    except RegistryUnreachableError:
        raise NotMeasuredError("Azurite cannot be installed.") from None
    figures = (Figure("one process", alone, "messages/s"), Figure("two processes", apart, "messages/s"))
    return Result(figures, host.empty_route_seconds)


async def drained_by_two(sizes: Sizes, settings: Mapping[str, str]) -> float:
    """Return how many messages two processes drain in a second."""
    with copied(PARTS) as folder:
        async with (
            hosted(folder, DURABLE, settings),
            hosted(folder, LISTENING, settings),
            hosted(folder, LISTENING, settings),
        ):
            return await drained(settings["AzureWebJobsStorage"], settings["INBOX"], sizes.drained_messages)


async def drained(connection_string: str, name: str, count: int) -> float:
    """Return how many messages a second were drained, from the first that is put to the last that is gone."""
    async with QueueClient.from_connection_string(connection_string, name) as queue:
        with suppress(ResourceExistsError):
            await queue.create_queue()
        began, put = time.perf_counter(), 0
        while (left := await waiting(queue)) or put < count:
            more = min(AHEAD - left, count - put)
            for _ in range(0, more, AT_ONCE):
                await asyncio.gather(*(put_message(queue) for _ in range(min(AT_ONCE, count - put))))
                put += min(AT_ONCE, count - put)
            await asyncio.sleep(0.05)
        return count / (time.perf_counter() - began)


async def put_message(queue: QueueClient) -> None:
    await queue.send_message(base64.b64encode(PLAIN.encode()).decode())


async def waiting(queue: QueueClient) -> int:
    """Return how many messages are in the queue, those among them that are worked on."""
    return int((await queue.get_queue_properties()).approximate_message_count or 0)
