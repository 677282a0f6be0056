"""The lines on the page of streams that follow a thread in Redis from another program, as the page has them."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import redis

from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.redis import RedisThreadStore
from hosting.core.thread.events import encode
from hosting.core.thread_log import ThreadLog
from hosting.names import Address
from tests.support.carriers import GUARD_SECONDS
from tests.support.redis_server import RedisServer
from tests.support.threads import accept, end

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "streaming.md").read_text(encoding="utf-8")
ADDRESS = Address.of("Helper", "t1")


@pytest.fixture
def hub() -> str:
    """The name of a task hub that no other test has."""
    return f"hub{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def log(redis_server: RedisServer, hub: str) -> AsyncIterator[ThreadLog]:
    """The threads' log in the session's server."""
    opened = ThreadLog(RedisThreadStore(redis_server.url, hub), MemoryObjects(), hub)
    yield opened
    await opened.close()


@pytest.mark.behaviour("streams.redis")
async def test_the_lines_on_the_page_follow_a_run_to_its_end(
    log: ThreadLog, redis_server: RedisServer, hub: str
) -> None:
    """What is there, what comes while they wait, and no more: another run's end is not its own."""
    printed, seen, loop = list[Any](), asyncio.Event(), asyncio.get_running_loop()

    def note(event: Any) -> None:
        printed.append(event)
        loop.call_soon_threadsafe(seen.set)

    (lines,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names = {"redis": redis, "json": json, "url": redis_server.url, "hub": hub, "print": note}
    names |= {"agent": ADDRESS.agent, "thread_id": ADDRESS.thread_id, "run_id": "r2"}
    await log.execute(ADDRESS, accept("r1", claimed=True))
    await log.execute(ADDRESS, end("r1"))
    reading = asyncio.ensure_future(asyncio.to_thread(exec, lines, names))
    await asyncio.wait_for(seen.wait(), GUARD_SECONDS)

    await log.execute(ADDRESS, accept("r2", claimed=True))
    await log.execute(ADDRESS, end("r2"))
    await asyncio.wait_for(reading, GUARD_SECONDS)

    assert printed == [json.loads(encode(event)) for _, event in await log.events(ADDRESS, 0)]
