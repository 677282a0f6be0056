"""The lines on the page of streams that follow a run in Redis from another program, as the page has them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import redis

from hosting.events import encode
from hosting.runlog.redis import RedisStore
from tests.support.carriers import GUARD_SECONDS
from tests.support.redis_server import RedisServer
from tests.support.sample_events import accepted, completed, started

PAGE = (Path(__file__).parents[2] / "docs" / "streaming.md").read_text(encoding="utf-8")


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncIterator[RedisStore]:
    """A run log in the session's server."""
    opened = RedisStore(redis_server.url)
    yield opened
    await opened.close()


@pytest.mark.behaviour("streams.redis")
async def test_the_lines_on_the_page_follow_a_run_to_its_end(store: RedisStore, redis_server: RedisServer) -> None:
    """What is there, what comes while they wait, and no more."""
    run, printed, seen = accepted("page-run"), list[Any](), asyncio.Event()
    loop = asyncio.get_running_loop()

    def note(event: Any) -> None:
        printed.append(event)
        loop.call_soon_threadsafe(seen.set)

    (lines,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names = {"redis": redis, "json": json, "url": redis_server.url, "run_id": run.run_id, "print": note}
    await store.open(run)
    reading = asyncio.ensure_future(asyncio.to_thread(exec, lines, names))
    await asyncio.wait_for(seen.wait(), GUARD_SECONDS)

    await store.append(run.run_id, started(), completed(), after=1)
    await asyncio.wait_for(reading, GUARD_SECONDS)

    assert printed == [json.loads(encode(event)) for event in (run, started(), completed())]
