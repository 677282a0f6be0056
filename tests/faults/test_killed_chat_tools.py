"""OpenAI's protocols under SIGKILL: a real host killed around each record of a caller's calls, results and end.

The conversation is with the caller alone, so its thread is not stored, and waits for the results all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

OPEN = SOURCE.replace(
    "agents=[clerk(note)]", 'wires=["chat-completions", "responses"], client_tools=True, agents=[clerk(note)]'
)
SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}}
WHERE = {"type": "function", "function": {"name": "where", "parameters": SCHEMA}}
ASKED = {"role": "user", "content": "call where 1, where 2, look 3"}

# Appends: 1 and 2 the run that calls, 3 the first result, 4 the second with the run that goes on, then that run. A
# kill in its middle would cut the app's own tool off, which ends a run (tests/faults/test_killed_steps.py).
POINTS = [
    "after 3",
    "before 1",
    "after 1",
    "before 2",
    "after 2",
    "before 3",
    "before 4",
    "after 4",
    "before completed 2",
]


async def to_the_end(http: httpx.AsyncClient, key: str) -> str:
    """Ask, send the results of the calls, and return the text of the run that goes on; without it, what was answered.

    The thread has no name: the key finds the calls again, and their ids the run that goes on.
    """
    path, fields = "/api/chat/v1/chat/completions", {"model": "Clerk", "tools": [WHERE]}
    asked = await http.post(path, json={**fields, "messages": [ASKED]}, headers={"idempotency-key": key})
    if asked.status_code != 200:
        return asked.text
    message = asked.json()["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "here"} for call in message["tool_calls"]]
    answer = await http.post(path, json={**fields, "messages": [ASKED, message, *results]})
    return answer.json()["choices"][0]["message"]["content"] if answer.status_code == 200 else answer.text


async def response_to_the_end(http: httpx.AsyncClient, key: str) -> str:
    """Do the same by Responses, whose items the caller sends back."""
    path = "/api/openai/v1/responses"
    fields = {"model": "Clerk", "tools": [{"type": "function", **WHERE["function"]}], "store": False}  # type: ignore[dict-item]
    asked = await http.post(path, json={**fields, "input": [ASKED]}, headers={"idempotency-key": key})
    if asked.status_code != 200:
        return asked.text
    items = asked.json()["output"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": call, "output": "here"} for call in calls]
    answer = await http.post(path, json={**fields, "input": [ASKED, *items, *outputs]})
    return answer.json()["output"][-1]["content"][0]["text"] if answer.status_code == 200 else answer.text


WIRES = {"chat": to_the_end, "responses": response_to_the_end}


async def until_gone(http: httpx.AsyncClient) -> None:
    """Return once the agent has no thread any more."""
    while True:
        if not (await http.get("/api/agents/Clerk/threads")).json()["threads"]:
            return
        await asyncio.sleep(0.05)


@pytest.mark.behaviour("chat.survives-kill")
@pytest.mark.behaviour("responses.functions")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_host_killed_around_a_callers_tools_loses_neither_calls_nor_results(
    tmp_path: Path, point: str, stores: dict[str, str], wire: str
) -> None:
    """The caller repeats what got no answer; another process goes on with the results, and the app's tool runs once.

    The thread goes with the last answer.
    """
    app, key = ClerksApp(tmp_path, stores, OPEN), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await WIRES[wire](http, key)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(WIRES[wire](http, key), 4 * GUARD_SECONDS)
            await asyncio.wait_for(until_gone(http), 4 * GUARD_SECONDS)

    assert (answer, app.notes()) == ("told: here | here | saw 3", ["look"])
