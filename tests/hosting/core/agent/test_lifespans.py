"""What agents hold open: opened once, on the agent loop, and closed with it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from agent_framework import Agent, AgentResponse, MCPStreamableHTTPTool

from hosting.core.agent.agent_loop import RUN, AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentFailure
from tests.hosting.core.agent.attempts import GUARD_SECONDS, attempt, outcome_of
from tests.support.app.scripted import ScriptedClient
from tests.support.bench import CountingAgent, answer
from tests.support.planned import planned_client
from tests.support.tool_server import ToolServer


class OpenedAgent(CountingAgent):
    """An agent that notes by which task it was opened and closed, and cannot be opened a number of times."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.failures = failures
        self.noted: list[tuple[str, str, object]] = []
        self.opened_for: str | None = None

    def note(self, what: str) -> None:
        """Keep what happened, on which thread and in which task."""
        self.noted.append((what, threading.current_thread().name, asyncio.current_task()))

    async def __aenter__(self) -> object:
        self.note("opened")
        self.opened_for = RUN.get(None)
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the tools are away")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.note("closed")


@pytest.mark.behaviour("hosting.opened-once")
async def test_an_agent_that_cannot_be_opened_fails_the_run_and_is_tried_again_by_the_next(loop: AgentLoop) -> None:
    """The caller gets our sentence; the next finds it open."""
    agent = OpenedAgent(failures=1)

    first, second, third = [await outcome_of(agent, loop) for _ in range(3)]

    assert isinstance(first, AgentFailure)
    assert first.error.code == "run_failed"
    assert (type(second), type(third)) == (AgentAnswer, AgentAnswer)
    assert [what for what, _, _ in agent.noted] == ["opened", "opened"]


@pytest.mark.behaviour("hosting.opened-once")
async def test_agents_that_are_tools_are_opened_and_left_with_the_agent_that_has_them(loop: AgentLoop) -> None:
    """Theirs too: the tool server of the innermost is connected to once, and left when the loop is closed."""
    with ToolServer() as server:
        tool = MCPStreamableHTTPTool("cities", server.url)
        inner = Agent(planned_client(ignore, (("city_of",), "in Paris")), name="Inner", tools=[tool])
        middle = Agent(
            planned_client(ignore, (("inner",), "there")),
            name="Middle",
            tools=[inner.as_tool(name="inner", arg_name="n")],
        )
        outer = Agent(
            planned_client(ignore, (("middle",), "done")),
            name="Joker",
            tools=[middle.as_tool(name="middle", arg_name="n")],
        )

        outcomes = await asyncio.gather(*(outcome_of(outer, loop) for _ in range(3)))
        await asyncio.to_thread(loop.close)
        await asyncio.to_thread(server.wait_for_end, "subscriptions/listen")

    assert {type(outcome) for outcome in outcomes} == {AgentAnswer}
    assert (server.began.count("server/discover"), server.began.count("tools/call")) == (1, 3)


def ignore(what: str) -> None:
    """Note nothing."""


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
    """Tell whether one attempt answers."""
    return isinstance(await outcome_of(agent, loop, attempt(message)), AgentAnswer)


@pytest.mark.behaviour("hosting.connections-come-back")
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


@pytest.mark.behaviour("hosting.connections-come-back")
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


@pytest.mark.behaviour("hosting.connections-come-back")
async def test_an_error_that_no_connection_explains_leaves_the_agent_open(loop: AgentLoop) -> None:
    agent = Connected()
    await is_answered(agent, loop)
    agent.connection.failure = ValueError("a mistake in its code")

    assert [await is_answered(agent, loop) for _ in range(2)] == [False, False]
    assert agent.connection.noted == ["opened"]


async def _set(event: asyncio.Event) -> None:
    event.set()
