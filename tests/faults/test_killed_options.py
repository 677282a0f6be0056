"""The options of a run under SIGKILL: a real host killed around each record, and another that goes on with the run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from hosting.testing.agent_app import AgentApp
from hosting.testing.asking import RunAnswer
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE as KILLING
from tests.faults.killing_app import ClerksApp
from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, over
from tests.support.marked_app import source_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

DECLARED = '{"temperature": (0, 1), "reasoning_effort": ["low"], "tool_choice": ["required"]}'
ADDED = f"app.add_agent(obedient(), options={DECLARED})\n"
SOURCE = source_of("obedient", "obedient", "", ADDED)
APP = (
    KILLING.replace("agents=[clerk(note)]", "").replace(
        "tests.support.clerk import clerk", "tests.support.obedient import obedient"
    )
    + ADDED
)
WIRED = APP.replace("AgentFunctionApp(", "AgentFunctionApp(wires=['ai-sdk', 'ag-ui', 'a2a', 'mcp'], ")
HANGING = (
    KILLING.replace("agents=[clerk(note)]", "").replace(
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


def check_the_options(ask: Callable[..., RunAnswer], agent_app: AgentApp) -> None:
    """The run's model has them in both attempts, and they are in the key's fingerprint too."""
    key = new_id()
    answer = ask(thread=key, key=key, **ASKED)
    url = f"{agent_app.url}{PATH}"
    again, other = (
        httpx.post(f"{url}/run", json={**ASKED, "thread_id": key, **more}, headers={"idempotency-key": key})
        for more in ({}, {"options": {"temperature": 0.4}})
    )

    assert json.loads(answer.text) == {"temperature": 0.5, "reasoning_effort": "low"}
    assert (again.json()["run_id"], again.headers["x-ms-ignored"]) == (answer.run_id, "options.seed")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert len(agent_app.read(f"agents/Joker/threads/{key}/runs")["runs"]) == 1


@pytest.mark.behaviour("options.survives-kill")
@pytest.mark.killed_at("each step")
def test_the_process_that_takes_over_a_run_gives_its_model_the_same_options(
    ask: Callable[..., RunAnswer], agent_app: AgentApp
) -> None:
    """Around each record of the run."""
    check_the_options(ask, agent_app)


@pytest.mark.behaviour("options.survives-kill")
@pytest.mark.killed_at("after the result of 'look' was recorded")
@over("kept", *KINDS[1:])
def test_the_options_are_the_same_over_each_store(ask: Callable[..., RunAnswer], agent_app: AgentApp) -> None:
    """The process that takes over asks the model once more."""
    check_the_options(ask, agent_app)


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
