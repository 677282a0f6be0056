"""A named tool of the caller under SIGKILL: a real host killed around each record, and another that goes on."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

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

APP = (
    SOURCE.replace("agents=[clerk(note)]", 'wires=["responses"], client_tools=True').replace(
        "tests.support.clerk import clerk", "tests.support.obedient import obedient"
    )
    + "app.add_agent(obedient())\n"
)
WHEN: dict[str, Any] = {"type": "function", "name": "when", "parameters": {"type": "object"}}
CONVERSATION: list[Any] = [
    {"role": "user", "content": "hi"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
    {"role": "user", "content": '{"n": "1"}'},
]
POINTS = ["after 1", "before 1", "before 2", "after 2"]
"""Appends: 1 begins the run, 2 ends it with the call of the caller's tool."""


async def respond(http: httpx.AsyncClient, key: str, sent: list[Any]) -> Any:
    """Return a response to items, with the choice of the tool, under a key by which it is found again."""
    body = {"input": sent, "tools": [WHEN], "tool_choice": {"type": "function", "name": "when"}}
    return (await http.post("/api/openai/v1/responses", json=body, headers={"idempotency-key": key})).json()


@pytest.mark.behaviour("options.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_the_process_that_takes_over_a_run_calls_the_named_tool_of_the_caller(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """Once, in a thread with the conversation that the caller sent; the output goes on without the choice."""
    app, key = ClerksApp(tmp_path, stores, APP), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await respond(http, key, CONVERSATION)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=4 * GUARD_SECONDS) as http:
            first = await asyncio.wait_for(respond(http, key, CONVERSATION), 4 * GUARD_SECONDS)
            again = await respond(http, key, CONVERSATION)
            (call,) = first["output"]
            output = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
            last = await respond(http, f"{key}-2", [*CONVERSATION, call, output])
            items = (await http.get(f"/api/openai/v1/responses/{first['id']}/input_items")).json()["data"]

    assert (call["name"], call["arguments"], again) == ("when", '{"n": "1"}', first)
    assert last["output"][-1]["content"][0]["text"] == "{}"
    assert [item["role"] for item in items] == ["user", "assistant", "user"]
