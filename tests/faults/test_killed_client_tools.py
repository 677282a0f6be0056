"""Tools of the caller under SIGKILL: a real host killed around each record of call, result and end, over each log."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from hosting.client.connection import RemoteAgentError
from hosting.names import new_id
from hosting.testing.agent_app import AgentApp
from hosting.testing.asking import RunAnswer
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE as KILLING
from tests.faults.killing_app import ClerksApp
from tests.support.ag_ui import Events, events_of, folded, text_of, wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in, over
from tests.support.marked_app import Notes, cuts_off, source_of
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

OPTIONS = 'client_tools=True, wires=["responses", "ag-ui"], agents=[clerk(note)]'
SOURCE = source_of("clerk", "clerk", OPTIONS)
OPEN = KILLING.replace("agents=[clerk(note)]", OPTIONS)
Asks = Callable[..., RunAnswer]
ASKED = "call where 1, look 2"
WHERE = {"name": "where", "parameters": {"type": "object", "properties": {"n": {"type": "string"}}}}

# Appends: 1 and 2 the run that calls, 3 the result with the run that goes on, then that run. A kill in its
# middle would cut the app's own tool off, which ends a run (tests/faults/test_killed_steps.py).
POINTS = ["after 3", "before 1", "after 1", "before 2", "after 2", "before 3", "before claimed 2", "before completed 2"]
SOME = ["after 2", "after 3"]


def check_the_result(ask: Asks, approve: Asks, agent_app: AgentApp, notes: Notes) -> None:
    """The caller repeats what got no answer; the run that goes on has the result, and the app's tool runs once."""
    answer = approve(ask(ASKED, client_tools=[WHERE]), value="here")
    runs = agent_app.read(f"agents/Clerk/threads/{answer.thread_id}/runs")["runs"]

    assert (answer.text, notes.tools) == ("told: here | saw 2", ["look"])
    assert [run["status"] for run in runs] == ["success", "success"]


@pytest.mark.behaviour("client-tools.survives-kill")
@pytest.mark.killed_at("each step")
def test_a_host_killed_around_a_callers_tool_loses_neither_call_nor_result(
    ask: Asks, approve: Asks, agent_app: AgentApp, notes: Notes, request: pytest.FixtureRequest
) -> None:
    """A tool of the app that was cut off ends its run."""
    if not cuts_off(request, "look"):
        check_the_result(ask, approve, agent_app, notes)
        return
    with pytest.raises(RemoteAgentError) as ended:
        approve(ask(ASKED, client_tools=[WHERE]), value="here")

    assert ended.value.code == "run_interrupted"
    assert notes.tools in ([], ["look"])


@pytest.mark.behaviour("client-tools.survives-kill")
@pytest.mark.killed_at("after the decision was recorded")
@over("kept", *KINDS[1:])
def test_the_result_of_a_callers_tool_outlives_a_kill_over_each_store(
    ask: Asks, approve: Asks, agent_app: AgentApp, notes: Notes
) -> None:
    """It is recorded with the run that goes on, which another process begins."""
    check_the_result(ask, approve, agent_app, notes)


class ResponsesClient:
    """OpenAI's client, which has what it was shown. The key of its first request is the thread's id."""

    def __init__(self, thread_id: str) -> None:
        self._key = thread_id
        self._first: Any = None

    async def ask(self, host: RunningHost) -> None:
        """Have the caller's function called."""
        async with self._client(host) as client:
            key = {"idempotency-key": self._key}
            self._first = await client.responses.create(
                model="Clerk", input=ASKED, tools=[self._function()], extra_headers=key
            )

    async def answer(self, host: RunningHost) -> str:
        """Send its output, and return the text of the answer."""
        outputs: Any = [
            {"type": "function_call_output", "call_id": item.call_id, "output": "here"}
            for item in self._first.output
            if item.type == "function_call"
        ]
        async with self._client(host) as client:
            last = await client.responses.create(
                model="Clerk", input=outputs, tools=[self._function()], previous_response_id=self._first.id
            )
        return last.output_text

    def _client(self, host: RunningHost) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            api_key="unused", base_url=f"{host.origin}/api/openai/v1", max_retries=0, timeout=4 * GUARD_SECONDS
        )

    def _function(self) -> Any:
        return {"type": "function", "strict": False, **WHERE}


class PageClient:
    """A page over AG-UI, which has the messages that it was shown."""

    def __init__(self, thread_id: str) -> None:
        self._first = wanted(ASKED, thread=thread_id, tools=[WHERE])
        self._messages: Events = []

    async def ask(self, host: RunningHost) -> None:
        """Have the caller's tool called."""
        self._messages = folded(await self._run(host, self._first), self._first["messages"])

    async def answer(self, host: RunningHost) -> str:
        """Send its result, and return the text of the answer."""
        results = [
            {"id": f"result-{call['id']}", "role": "tool", "toolCallId": call["id"], "content": "here"}
            for call in self._messages[-1]["toolCalls"]
        ]
        again = wanted(thread=self._first["threadId"], run="r-2", tools=[WHERE])
        return text_of(await self._run(host, {**again, "messages": [*self._messages, *results]}))

    async def _run(self, host: RunningHost, fields: dict[str, Any]) -> Events:
        async with httpx.AsyncClient(base_url=host.origin, timeout=4 * GUARD_SECONDS) as http:
            return events_of((await http.post("/api/ag-ui/Clerk", json=fields)).text)


WIRES = {"responses": ResponsesClient, "ag-ui": PageClient}


@pytest.mark.behaviour("client-tools.survives-kill")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=["stores"])
async def test_a_call_that_a_client_was_shown_is_answered_at_another_process(
    tmp_path: Path, wire: str, stores: dict[str, str]
) -> None:
    """The one that showed it was killed meanwhile; the client has nothing but what it was shown."""
    app = ClerksApp(tmp_path, stores, OPEN)
    client = WIRES[wire](new_id())
    with app.host() as host:
        await client.ask(host)
        host.process.kill()

    with app.host() as host:
        answers = [await asyncio.wait_for(client.answer(host), 4 * GUARD_SECONDS) for _ in range(2)]

    assert (answers, app.notes()) == (["told: here | saw 2"] * 2, ["look"])


@pytest.mark.behaviour("client-tools.survives-kill")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "point", [point if point in SOME else pytest.param(point, marks=pytest.mark.explore) for point in POINTS]
)
async def test_a_client_whose_host_is_killed_sends_again_what_got_no_answer(
    tmp_path: Path, wire: str, point: str, stores: dict[str, str]
) -> None:
    """Its call or its result: each is found where it was recorded."""
    app, client = ClerksApp(tmp_path, stores, OPEN), WIRES[wire](new_id())
    with app.host(KILL=point) as host:
        with contextlib.suppress(httpx.TransportError, openai.APIConnectionError):
            await client.ask(host)
            await client.answer(host)
        assert await until_dead(host) != 0

    with app.host() as host:
        await asyncio.wait_for(client.ask(host), 4 * GUARD_SECONDS)
        answer = await asyncio.wait_for(client.answer(host), 4 * GUARD_SECONDS)

    assert (answer, app.notes()) == ("told: here | saw 2", ["look"])
