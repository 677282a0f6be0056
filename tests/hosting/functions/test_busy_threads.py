"""`busy`, over HTTP and over every other door: what becomes of a request whose thread has a run that has not ended."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import wanted
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import Api
from tests.support.direct import DirectHost
from tests.support.event_stream import parse
from tests.support.made_app import app_of, ask, served
from tests.support.steered import Working

NO_WAIT = {"wait_for_response": False}
RUN = "/api/agents/Joker/run"


async def busy_thread(api: Api) -> tuple[str, httpx.Response]:
    """Return a thread that executes a run, and the answer to the request that began that."""
    thread_id = f"busy-{uuid.uuid4().hex[:12]}"
    return thread_id, await api.ask("sleep 60", thread_id=thread_id, wait_for_response=False)


@pytest.mark.behaviour("http.busy")
async def test_a_rejected_request_is_told_where_the_run_in_the_way_is(direct: Api) -> None:
    """In the header that every client of HTTP follows, and in the problem. Once that has ended, it is not rejected."""
    thread_id, running = await busy_thread(direct)

    refused = await direct.ask("now", thread_id=thread_id, busy="reject")
    text = await direct.http.post(
        RUN,
        params={"thread_id": thread_id, "busy": "reject"},
        content="now",
        headers={"content-type": "text/plain"},
    )
    there = await direct.http.get(refused.headers["location"])
    await direct.http.post(f"{refused.headers['location']}/cancel")
    await direct.ended(refused.headers["location"])
    taken = await direct.ask("now", thread_id=thread_id, busy="reject")

    assert (refused.status_code, refused.json()["code"]) == (409, "thread_busy")
    assert refused.headers["location"] == running.headers["location"]
    assert text.text == f"{refused.json()['detail']}\n\nThat run: GET {refused.headers['location']}"
    assert refused.headers["x-ms-run-id"] == refused.json()["run_id"] == running.json()["run_id"]
    assert (refused.headers["x-ms-thread-id"], refused.headers["retry-after"]) == (thread_id, "1")
    assert (there.status_code, there.json()["run_id"]) == (202, running.json()["run_id"])
    assert (taken.status_code, taken.json()["response"]) == (200, "echo: now")


@pytest.mark.behaviour("http.busy")
@pytest.mark.parametrize(
    ("policy", "code", "seen"),
    [("interrupt", "run_superseded", "sleep 60 | recall"), ("rollback", "run_rolled_back", "recall")],
)
async def test_a_request_takes_the_place_of_the_run_that_works(direct: Api, policy: str, code: str, seen: str) -> None:
    """Whoever waits for that run is told why it ended, and so is whoever asks later."""
    thread_id = f"busy-{uuid.uuid4().hex[:12]}"
    waiting = asyncio.ensure_future(direct.ask("sleep 60", thread_id=thread_id))
    place = f"/api/agents/Joker/threads/{thread_id}"
    while not (runs := (await direct.http.get(f"{place}/runs")).json().get("runs")) or runs[0]["status"] != "running":  # noqa: ASYNC110
        await asyncio.sleep(0.01)

    answer = await direct.ask("recall", thread_id=thread_id, busy=policy)
    ended = await waiting
    read = await direct.http.get(f"{place}/runs/{runs[0]['run_id']}")
    entries = (await direct.http.get(f"{place}/messages")).json()["entries"]

    assert (answer.status_code, answer.json()["response"]) == (200, seen)
    assert (ended.status_code, ended.json()["code"]) == (409, code)
    assert (read.json()["status"], read.json()["error"]) == ("cancelled", ended.json())
    kept = [entry.get("status") for entry in entries if entry["run_id"] == runs[0]["run_id"]]
    assert kept == ([None, "interrupted"] if policy == "interrupt" else [])


@pytest.mark.behaviour("http.busy")
async def test_an_agent_s_policy_holds_at_every_door() -> None:
    """Each refuses in its own form, names the run in the way, and starts nothing."""
    app = app_of(wires=["responses", "a2a", "ag-ui"], enable_mcp_tool_trigger=True)
    app.add_agent(scripted_agent("Joker"), busy="reject")
    host = DirectHost(app)
    transport = httpx.ASGITransport(host.asgi, raise_app_exceptions=False)
    sent = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("hi", contextId="t")}}
    async with httpx.AsyncClient(transport=transport, base_url="http://app.example/api", headers=HEADERS) as http:
        running = await http.post("agents/Joker/run", json={"message": "sleep 60", "thread_id": "t", **NO_WAIT})
        response = await http.post("openai/v1/responses", json={"input": "hi", "conversation": "conv_joker~t"})
        event = await http.post("ag-ui/Joker", json=wanted("hi"))
        task = await http.post("a2a/Joker", json=sent)
        tool = await host.call_tool("Joker", {"query": "hi", "threadId": "t"})
        runs = (await http.get("agents/Joker/threads/t/runs")).json()["runs"]
        await http.post(f"{running.headers['location']}/cancel")

    in_the_way = f"Run {running.json()['run_id']} of this thread has not ended."
    assert (response.status_code, response.json()["error"]["code"]) == (409, "thread_busy")
    assert (event.status_code, event.json()["type"], event.json()["code"]) == (409, "RUN_ERROR", "thread_busy")
    assert task.json()["error"]["data"][0]["metadata"]["code"] == "thread_busy"
    assert (tool["isError"], tool["structuredContent"]) == (True, {"code": "thread_busy"})
    told = [response.json()["error"], event.json(), task.json()["error"], tool["content"]]
    assert [in_the_way in str(one) for one in told] == [True] * 4
    assert [run["run_id"] for run in runs] == [running.json()["run_id"]]


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


@pytest.mark.behaviour("http.steering")
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


@pytest.mark.behaviour("http.steering")
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
