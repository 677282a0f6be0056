"""Chats of the AI SDK under SIGKILL: a real host killed around each record of a message, a decision and their ends."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.ai_sdk import chunks_of, text_of, texts
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

WIRED = SOURCE.replace("agents=[clerk(note)]", 'wires=["ai-sdk"], agents=[clerk(note)]')
PATH = "/api/ai-sdk/Clerk"
ASKED = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "call refund 4"}]}

# Appends: 1 and 2 the run that asks, 3 the decision with the run that goes on, then that run. A kill in its
# middle would cut its tool off, which ends a run (tests/faults/test_killed_steps.py).
POINTS = [
    "after 3",
    "before 1",
    "after 1",
    "before 2",
    "after 2",
    "before 3",
    "after tool_result 1",
    "before completed 2",
]


async def to_the_end(http: httpx.AsyncClient) -> str:
    """Send the message, then the decision on what the chat waits for, as a page that is opened anew does each time."""
    await sent(http, [ASKED])
    messages = (await http.get(f"{PATH}/chat1")).json()["messages"]
    for part in messages[-1]["parts"]:
        if part.get("state") == "approval-requested":
            part |= {"state": "approval-responded", "approval": {"id": part["approval"]["id"], "approved": True}}
            return await sent(http, messages)
    followed = await http.get(f"{PATH}/chat1/stream")
    return texts((await http.get(f"{PATH}/chat1")).json()["messages"][-1]) if followed.status_code == 204 else ""


async def sent(http: httpx.AsyncClient, messages: list[Any]) -> str:
    """Return the text of the answer."""
    answer = await http.post(PATH, json={"id": "chat1", "messages": messages})
    assert answer.status_code == 200, answer.text
    return text_of(chunks_of(answer.text))


@pytest.mark.behaviour("ai-sdk.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_host_killed_around_a_chat_loses_neither_message_nor_decision(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """The page sends again what got no answer; another process goes on, and the tool runs once."""
    app = ClerksApp(tmp_path, stores, WIRED)
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError, AssertionError):
                await to_the_end(http)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(to_the_end(http), 4 * GUARD_SECONDS)
            while not answer:
                answer = await asyncio.wait_for(to_the_end(http), 4 * GUARD_SECONDS)
            messages = (await http.get(f"{PATH}/chat1")).json()["messages"]

    assert answer.endswith("told: refunded 4")
    assert texts(messages[-1]) == "One moment.told: refunded 4"
    assert len(messages) == 2
    assert app.notes() == ["refund"]
