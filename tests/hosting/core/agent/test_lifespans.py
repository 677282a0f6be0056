"""What agents hold open: opened once, on the agent loop, and closed with it."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import Agent, MCPStreamableHTTPTool

from hosting.core.agent.agent_loop import RUN, AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentFailure, AgentRunner, Attempt, AttemptOutcome
from hosting.core.thread.messages import request_messages
from hosting.core.thread.run_request import RunRequest
from tests.support.bench import CountingAgent
from tests.support.planned import planned_client
from tests.support.tool_server import ToolServer

GUARD_SECONDS = 5.0


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    """An agent loop of this test's own."""
    loop = AgentLoop(tool_threads=2)
    yield loop
    loop.close()


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


async def run(agent: Any, loop: AgentLoop, message: str = "hi") -> AttemptOutcome:
    """Run one attempt under the guard."""
    request = RunRequest(message=message)
    attempt = Attempt(
        run_id="r-1",
        session_id="t",
        request=request,
        messages=request_messages(request),
        history=[],
        session=None,
    )
    return await asyncio.wait_for(AgentRunner(agent, "Joker", loop).run(attempt, GUARD_SECONDS), GUARD_SECONDS)


@pytest.mark.behaviour("hosting.opened-once")
async def test_an_agent_is_opened_once_for_all_its_runs_and_closed_with_the_loop(loop: AgentLoop) -> None:
    """By one task of the agent loop, in which both happen, and in the context of no run."""
    agent = OpenedAgent()

    await asyncio.gather(*(run(agent, loop) for _ in range(5)))
    await asyncio.to_thread(loop.close)

    (opened, on, task), (closed, _, same) = agent.noted
    assert (opened, closed, on, task is same) == ("opened", "closed", "agent-loop", True)
    assert agent.opened_for is None


@pytest.mark.behaviour("hosting.opened-once")
async def test_an_agent_that_cannot_be_opened_fails_the_run_and_is_tried_again_by_the_next(loop: AgentLoop) -> None:
    """The caller gets our sentence; the next finds it open."""
    agent = OpenedAgent(failures=1)

    first, second, third = [await run(agent, loop) for _ in range(3)]

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

        outcomes = await asyncio.gather(*(run(outer, loop) for _ in range(3)))
        await asyncio.to_thread(loop.close)
        await asyncio.to_thread(server.wait_for_end, "subscriptions/listen")

    assert {type(outcome) for outcome in outcomes} == {AgentAnswer}
    assert (server.began.count("server/discover"), server.began.count("tools/call")) == (1, 3)


def ignore(what: str) -> None:
    """Note nothing."""
