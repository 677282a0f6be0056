"""The app on the page of callbacks: it starts, and its callback hears what the page says."""

from __future__ import annotations

import asyncio
import queue
import re
from typing import Any

import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import ask, served
from tests.support.pages import page, part

PAGE = part(page("docs/guides/notifications.md"), "## Response callbacks")
MEMORY = "AgentFunctionApp(environ={'AGENT_LOG': 'memory'}, "


@pytest.mark.behaviour("callbacks.response")
@pytest.mark.behaviour("callbacks.failure")
async def test_the_app_on_the_page_prints_what_its_callback_hears() -> None:
    """A piece, an answer, a failure, each with the run; a piece of no text tells the tokens that were used."""
    printed: queue.Queue[tuple[Any, ...]] = queue.Queue()
    names: dict[str, Any] = {
        "assistant": scripted_agent("Joker"),
        "poet": scripted_agent("Poet"),
        "print": lambda *text: printed.put(text),
    }
    (source,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(source.replace("AgentFunctionApp(", MEMORY), names)

    async with served(names["app"]) as (host, http):
        assert isinstance(host, DirectHost)
        good = (await ask(http, "say hello", thread_id="t")).json()["run_id"]
        received = [await asyncio.to_thread(printed.get, timeout=GUARD_SECONDS) for _ in range(3)]
        bad = (await ask(http, "fail please")).json()
        received.append(await asyncio.to_thread(printed.get, timeout=GUARD_SECONDS))

    assert received[:3] == [(good, "hello"), (good, ""), ("Joker", "t", good, "hello")]
    assert received[3:] == [(bad["run_id"], bad["code"], bad["detail"])]
