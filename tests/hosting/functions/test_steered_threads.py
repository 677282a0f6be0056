"""`busy` "steer", over HTTP and over every other door: what becomes of a message that joins the run (http-runs.md)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import wanted
from tests.support.direct import DirectHost
from tests.support.event_stream import parse
from tests.support.made_app import app_of, ask, served
from tests.support.steered import Working

pytestmark = pytest.mark.behaviour("http.steering")
PLACE = "/api/agents/Joker/threads/t"
SHOWN = ["user: first", "call", "tool", "user: and this", "call", "tool"]


@asynccontextmanager
async def at_work(**options: Any) -> AsyncIterator[tuple[Working, DirectHost, httpx.AsyncClient, str]]:
    """An app whose agent works on thread `t` for a caller who does not wait: with the id of that run."""
    working = Working("Joker")
    app = app_of(**options)
    app.add_agent(working.agent, busy="steer")
    try:
        async with served(app) as (host, http):
            begun = await ask(http, "first", thread_id="t", wait_for_response=False, stream=False)
            waiting = asyncio.ensure_future(http.get(f"{begun.headers['location']}/events"))
            await working.at_work()
            yield working, host, http, begun.json()["run_id"]
            working.open()
            await waiting
    finally:
        working.open()


async def test_who_waits_gets_the_answer_of_the_run_that_took_the_message() -> None:
    """And reads which run that is, also from the run's own page."""
    async with at_work() as (working, _, http, first):
        waiting = asyncio.ensure_future(ask(http, "and this", thread_id="t", busy="steer"))
        while len((await http.get(f"{PLACE}/runs")).json()["runs"]) < 2:  # noqa: ASYNC110 - until it is accepted
            await asyncio.sleep(0.01)
        working.open()
        answer = await waiting
        newest = (await http.get(f"{PLACE}/runs")).json()["runs"][0]
        read = await http.get(f"{PLACE}/runs/{newest['run_id']}")
        timeline = (await http.get(f"{PLACE}/runs/{first}/timeline")).json()["steps"]
        entries = (await http.get(f"{PLACE}/messages")).json()["entries"]

    body = answer.json()
    assert (answer.status_code, body["run_id"], body["joined"]) == (200, first, first)
    assert json.loads(body["response"]) == SHOWN
    assert (newest["status"], newest["joined"]) == ("joined", first)
    assert (read.status_code, read.json()["status"], read.json()["joined"]) == (200, "joined", first)
    assert read.headers["location"].endswith(f"{PLACE}/runs/{first}")
    (step,) = [step for step in timeline if step["kind"] == "message_joined"]
    assert (step["id"], step["text"]) == (newest["run_id"], "and this")
    assert [entry["run_id"] for entry in entries] == [first, first]
    asked = [content["text"] for sent in entries[0]["messages"] for content in sent["contents"]]
    assert asked == ["first", "and this"]


async def test_a_message_joins_at_every_door_of_an_agent_that_says_so() -> None:
    wires = ["responses", "a2a", "ag-ui"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("task", contextId="t")}}
    async with at_work(wires=wires, enable_mcp_tool_trigger=True) as (working, host, http, first):
        waiting = [
            asyncio.ensure_future(door)
            for door in (
                http.post("/api/openai/v1/responses", json={"input": "plain", "conversation": "conv_joker~t"}),
                http.post(
                    "/api/openai/v1/responses",
                    json={"input": "streamed", "conversation": "conv_joker~t", "stream": True},
                ),
                http.post("/api/ag-ui/Joker", json=wanted("page")),
                http.post("/api/a2a/Joker", json=call, headers=HEADERS),
                host.call_tool("Joker", {"query": "tool", "threadId": "t"}),
            )
        ]
        while len((await http.get(f"{PLACE}/runs")).json()["runs"]) < 6:  # noqa: ASYNC110 - until all are accepted
            await asyncio.sleep(0.01)
        working.open()
        plain, streamed, page, task, tool = await asyncio.gather(*waiting)

    assert plain.json()["id"].startswith(f"resp_{first}~")
    last = parse(streamed.text)[-1].fields["response"]
    assert (last["status"], last["output"]) == ("incomplete", [])
    assert last["incomplete_details"] == {"reason": "steered", "type": "run_joined", "response_id": plain.json()["id"]}
    assert '"RUN_FINISHED"' in page.text
    assert f'"joined": "{first}"' in page.text
    assert first in task.json()["result"]["task"]["id"]
    assert tool["structuredContent"]["run_id"] == first
    shown = set(json.loads(tool["structuredContent"]["response"]))
    assert {f"user: {word}" for word in ("plain", "streamed", "page", "task", "tool")} <= shown
