"""Messages that join a run at work: pages that follow it get them at their place, and agree with the thread then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.ag_ui import Events, events_of, folded, text_of, wanted
from tests.support.made_app import app_of, served
from tests.support.steered import Working

pytestmark = pytest.mark.behaviour("ag-ui.steering")
WORD = {"id": "u-2", "role": "user", "content": "and this"}


class Steered:
    """An app whose agent is steered, called without a host."""

    def __init__(self, http: httpx.AsyncClient, working: Working) -> None:
        self.http, self.working = http, working

    async def run(self, fields: dict[str, Any]) -> Events:
        """Return the events of a run."""
        return events_of((await self.http.post("/api/ag-ui/Joker", json=fields)).text)

    async def joined(self, first: dict[str, Any], word: dict[str, Any]) -> tuple[Events, Events]:
        """Run the agent, and have a message join that; return the events of both runs."""
        at_work = asyncio.ensure_future(self.run(first))
        await self.working.at_work()
        joining = asyncio.ensure_future(self.run(word))
        while len((await self.http.get("/api/agents/Joker/threads/t/runs")).json()["runs"]) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        self.working.open()
        return await at_work, await joining


@pytest.fixture
async def steered() -> AsyncIterator[Steered]:
    """One process of the app."""
    working = Working("Joker")
    app = app_of(wires=["ag-ui"])
    app.add_agent(working.agent, busy="steer")
    async with served(app) as (_, http):
        yield Steered(http, working)
        working.open()


async def test_a_page_is_shown_the_message_that_joined_its_run(steered: Steered) -> None:
    """At its place, under the id that its own page gave it, and once for a client that sends its run again."""
    first = wanted("first")
    events, word = await steered.joined(first, wanted(run="r-2", messages=[WORD]))

    shown = folded(events, first["messages"])
    again = folded(await steered.run({**first, "messages": shown}), shown)
    assert [message["role"] for message in shown] == [
        "user",
        "assistant",
        "tool",
        "user",
        *["assistant", "tool"],
        "assistant",
    ]
    assert shown[3] == WORD
    assert json.loads(shown[-1]["content"])[3] == "user: and this"
    assert again == shown
    assert word[-1]["result"]["joined"]


async def test_the_message_that_joined_is_a_next_one_when_it_is_sent_again(steered: Steered) -> None:
    """And a page that edits the first one takes both back, with the run."""
    first = wanted("first")
    events, _ = await steered.joined(first, wanted(run="r-2", messages=[WORD]))
    shown = folded(events, first["messages"])

    again = await steered.run(wanted(run="r-3", messages=shown[:4]))
    edited = await steered.run(wanted(run="r-4", messages=[{**shown[0], "content": "anew"}]))

    assert json.loads(text_of(again))[-6:-4] == [f"assistant: {shown[-1]['content']}", "user: and this"]
    assert json.loads(text_of(edited)) == ["user: anew", "call", "tool", "call", "tool"]
