"""The options of a run under SIGKILL: a real host killed around each record, and another that goes on with the run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

DECLARED = '{"temperature": (0, 1), "reasoning_effort": ["low"], "tool_choice": ["required"]}'
APP = (
    SOURCE.replace("agents=[clerk(note)]", "").replace(
        "tests.support.clerk import clerk", "tests.support.obedient import obedient"
    )
    + f"app.add_agent(obedient(), options={DECLARED})\n"
)
WIRED = APP.replace("AgentFunctionApp(", "AgentFunctionApp(wires=['ai-sdk', 'ag-ui', 'a2a', 'mcp'], ")
HANGING = (
    SOURCE.replace("agents=[clerk(note)]", "").replace(
        "from tests.support.clerk import clerk",
        "import asyncio\nfrom tests.support.obedient import ObedientClient, obedient",
    )
    + f"""

class HangingClient(ObedientClient):
    async def _answer(self, messages, options):
        if messages[-1].text == "hang" and "HANG" in os.environ:
            note("hangs")
            await asyncio.Event().wait()
        return await super()._answer(messages, options)


app.add_agent(obedient(client=HangingClient()), options={DECLARED})
"""
)
"""The same app; in a process with HANG its model never answers "hang"."""

ASKED = {
    "message": "call look",
    "options": {"temperature": 0.5, "reasoning_effort": "low", "tool_choice": "required", "seed": 3},
}
PATH = "/api/agents/Joker"

# Appends: 1 begins the run, 2 records the call of the tool with its result, 3 ends the run.
POINTS = ["after 2", "before 1", "after 1", "before 2", "before 3", "after 3"]


async def asked(http: httpx.AsyncClient, key: str) -> httpx.Response:
    """Ask with options, under a key by which the run is found again."""
    return await http.post(f"{PATH}/run", json={**ASKED, "thread_id": key}, headers={"idempotency-key": key})


@pytest.mark.behaviour("options.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_the_process_that_takes_over_a_run_gives_its_model_the_same_options(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """The caller sends the request again, and gets the one run: its options are in the key's fingerprint too."""
    app, key = ClerksApp(tmp_path, stores, APP), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await asked(http, key)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=4 * GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(asked(http, key), 4 * GUARD_SECONDS)
            other = await http.post(
                f"{PATH}/run",
                json={**ASKED, "thread_id": key, "options": {"temperature": 0.4}},
                headers={"idempotency-key": key},
            )
            runs = (await http.get(f"{PATH}/threads/{key}/runs")).json()["runs"]

    assert json.loads(answer.json()["response"]) == {"temperature": 0.5, "reasoning_effort": "low"}
    assert answer.headers["x-ms-ignored"] == "options.seed"
    assert (other.status_code, [run["status"] for run in runs]) == (409, ["success"])


SENT_OPTIONS = {"temperature": 0.5, "reasoning_effort": "low", "seed": 3}


def by_wire(wire: str, thread: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return the path, the body and the headers of a message on that thread by a wire."""
    match wire:
        case "ai-sdk":
            said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "call look"}]}
            return "ai-sdk/Joker", {"id": thread, "messages": [said], "options": SENT_OPTIONS}, {}
        case "ag-ui":
            return "ag-ui/Joker", wanted("call look", thread=thread, forwardedProps={"options": SENT_OPTIONS}), {}
        case "a2a":
            sent = message("call look", contextId=thread, messageId="m1")
            params = {"message": sent, "metadata": {"options": SENT_OPTIONS}}
            return "a2a/Joker/", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}, HEADERS
    arguments = {"query": "call look", "threadId": thread, "options": SENT_OPTIONS}
    params = {"name": "Joker", "arguments": arguments}
    own = {"accept": "application/json", "mcp-protocol-version": "2025-11-25", "idempotency-key": "m1"}
    return "mcp/v1", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, own


@pytest.mark.behaviour("options.survives-kill")
@pytest.mark.parametrize("wire", ["ai-sdk", "ag-ui", "a2a", "mcp"])
async def test_a_run_of_any_protocol_keeps_its_options_through_a_kill(tmp_path: Path, wire: str) -> None:
    """After its tool was called: the second attempt's model has them, and the request sent again finds the one run."""
    app, thread = ClerksApp(tmp_path, {"AGENT_LOG": f"sqlite:{tmp_path / 'log'}"}, WIRED), new_id()
    path, body, headers = by_wire(wire, thread)
    with app.host(KILL="after 2") as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await http.post(path, json=body, headers=headers)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=4 * GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(http.post(path, json=body, headers=headers), 4 * GUARD_SECONDS)
            place = f"agents/Joker/threads/{thread}"
            runs = (await http.get(f"{place}/runs")).json()["runs"]
            entries = (await http.get(f"{place}/messages")).json()["entries"]

    assert answer.status_code == 200, answer.text
    assert [run["status"] for run in runs] == ["success"]
    assert json.loads(entries[-1]["messages"][-1]["contents"][0]["text"]) == {
        "temperature": 0.5,
        "reasoning_effort": "low",
    }


@pytest.mark.behaviour("options.survives-kill")
async def test_a_run_that_waited_in_the_queue_of_a_killed_process_has_its_own_options(tmp_path: Path) -> None:
    """And the one before it, whose model had not answered, has those that it began with."""
    app = ClerksApp(tmp_path, {"AGENT_LOG": f"sqlite:{tmp_path / 'log'}"}, HANGING)
    asked = {"hang": {"temperature": 0.1}, "hello": {"temperature": 0.9, "reasoning_effort": "low"}}

    async def begin(http: httpx.AsyncClient, message: str) -> str:
        body = {"message": message, "thread_id": "t", "options": asked[message]}
        answer = await http.post(f"{PATH}/run", json=body, headers={"x-ms-wait-for-response": "false"})
        assert answer.status_code == 202, answer.text
        return httpx.URL(answer.headers["location"]).path

    async def until_it_hangs() -> None:
        while not app.notes():  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)

    async def ended(http: httpx.AsyncClient, place: str) -> Any:
        while (answer := await http.get(place)).status_code == 202:  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)
        return json.loads(answer.json()["response"])

    with app.host(HANG="1") as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            first = await begin(http, "hang")
            await asyncio.wait_for(until_it_hangs(), GUARD_SECONDS)
            second = await begin(http, "hello")
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            said = [await asyncio.wait_for(ended(http, place), 4 * GUARD_SECONDS) for place in (first, second)]

    assert said == [*asked.values()]
