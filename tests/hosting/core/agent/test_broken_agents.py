"""Agents that are context managers, and what they hold open broke: opened again for the next run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import Agent, AgentResponse

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentRunner, Attempt
from hosting.core.thread.messages import request_messages
from hosting.core.thread.run_request import RunRequest
from tests.support.app.scripted import ScriptedClient
from tests.support.bench import CountingAgent, answer

pytestmark = pytest.mark.behaviour("hosting.connections-come-back")
GUARD_SECONDS = 5.0


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    """An agent loop of this test's own."""
    loop = AgentLoop(tool_threads=2)
    yield loop
    loop.close()


class Connection:
    """What an agent or a client holds open: it may break, and works again once it was opened again."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.failure: Exception | None = None

    def open(self) -> None:
        """Open it, whole."""
        self.noted.append("opened")
        self.failure = None

    def use(self) -> None:
        """Raise what it broke by."""
        if self.failure is not None:
            raise self.failure


class Connected(CountingAgent):
    """An agent over a connection; asked to `stay`, it does until it may go."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = Connection()
        self.staying, self.may_go = threading.Event(), asyncio.Event()
        self.work = self.use

    async def use(self, text: str) -> AgentResponse[Any]:
        """Answer over the connection."""
        if text == "stay":
            self.staying.set()
            await self.may_go.wait()
            self.connection.noted.append("stayed")
            return await answer(text)
        self.connection.use()
        return await answer(text)

    async def __aenter__(self) -> object:
        self.connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.connection.noted.append("closed")


class ConnectedClient(ScriptedClient):
    """A chat client over a connection."""

    connection: Connection

    async def _answer(self, messages: Any, options: Any) -> Any:
        self.connection.use()
        return await super()._answer(messages, options)

    async def __aenter__(self) -> object:
        self.connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.connection.noted.append("closed")


async def is_answered(agent: Any, loop: AgentLoop, message: str = "hi") -> bool:
    """Run one attempt under the guard, and return whether it answered."""
    request = RunRequest(message=message)
    messages = request_messages(request)
    attempt = Attempt(run_id="r-1", session_id="t", request=request, messages=messages, history=[], session=None)
    runner = AgentRunner(agent, "Joker", loop)
    outcome = await asyncio.wait_for(runner.run(attempt, GUARD_SECONDS), GUARD_SECONDS)
    return isinstance(outcome, AgentAnswer)


@pytest.mark.parametrize("is_client", [False, True])
async def test_an_agent_whose_connection_broke_is_opened_again_for_the_next_run(
    loop: AgentLoop, is_client: bool
) -> None:
    """Also where its chat client holds it. The run that met it fails."""
    agent: Any = Connected()
    connection = agent.connection
    if is_client:
        client = ConnectedClient()
        client.connection = connection
        agent = Agent(client, name="Joker")
    answered = [await is_answered(agent, loop)]

    connection.failure = ConnectionResetError("the server went away")
    answered += [await is_answered(agent, loop) for _ in range(3)]

    assert answered == [True, False, True, True]
    assert connection.noted == ["opened", "closed", "opened"]


async def test_a_run_under_way_is_not_broken_by_the_opening(loop: AgentLoop) -> None:
    """The next run waits for it, and the agent is left once nobody uses it."""
    agent = Connected()
    staying = asyncio.create_task(is_answered(agent, loop, "stay"))
    await asyncio.to_thread(agent.staying.wait, GUARD_SECONDS)
    agent.connection.failure = EOFError()
    failed = await is_answered(agent, loop)
    waiting = asyncio.create_task(is_answered(agent, loop))
    await asyncio.sleep(0)
    await loop.run(asyncio.sleep(0))  # it has begun, and waits
    before = list(agent.connection.noted)
    await loop.run(_set(agent.may_go))

    assert (failed, await staying, await waiting) == (False, True, True)
    assert (before, agent.connection.noted) == (["opened"], ["opened", "stayed", "closed", "opened"])


async def test_an_error_that_no_connection_explains_leaves_the_agent_open(loop: AgentLoop) -> None:
    agent = Connected()
    await is_answered(agent, loop)
    agent.connection.failure = ValueError("a mistake in its code")

    assert [await is_answered(agent, loop) for _ in range(2)] == [False, False]
    assert agent.connection.noted == ["opened"]


async def _set(event: asyncio.Event) -> None:
    event.set()
