"""Parts of agent-framework that run the model more often, or stop it: hosted, and through a kill."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentLoopMiddleware,
    ChatContext,
    ChatMiddleware,
    FunctionInvocationContext,
    MCPStreamableHTTPTool,
    MCPTaskOptions,
    Message,
    MessageInjectionMiddleware,
    tool,
)

from tests.support.halted_runs import AFTER_A_TOOL, AFTER_TWO_TOOLS, counting, killed_and_finished
from tests.support.owned_app import OwnedApp
from tests.support.planned import planned_agent, planned_client

pytestmark = pytest.mark.filterwarnings("ignore:.*experimental")


class Sent(ChatMiddleware):
    """The texts of each model call."""

    def __init__(self) -> None:
        self.texts: list[list[str]] = []

    async def process(self, context: ChatContext, call_next: Any) -> None:
        """Note them."""
        self.texts.append([message.text for message in context.messages])
        await call_next()


@pytest.mark.behaviour("journal.parts")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_message_that_a_tool_injected_reaches_the_model_once_though_its_process_died(*, streamed: bool) -> None:
    """The tool is not called again, and what it put into the session is there."""
    counted, note = counting()
    injection = MessageInjectionMiddleware()

    @tool
    async def hint(n: int, ctx: FunctionInvocationContext) -> str:
        """Give the model a hint."""
        note("hint")
        assert ctx.session is not None
        injection.enqueue_messages(ctx.session, Message("system", ["Mind the gap."]))
        return "given"

    sent = Sent()
    client = planned_client(note, (("hint",), "all done"))
    agent = Agent(client, name="Joker", tools=[hint], middleware=[injection, sent])

    ended = await killed_and_finished(agent, counted, appends=AFTER_A_TOOL, streamed=streamed)

    assert (ended.terminal["kind"], counted["hint"]) == ("completed", 1), ended.terminal
    assert sent.texts[-1].count("Mind the gap.") == 1


@pytest.mark.behaviour("journal.parts")
async def test_a_loop_goes_on_in_the_round_that_its_process_died_in() -> None:
    counted, note = counting()
    agent = planned_agent(note, plan=(("add",), "all done"))
    agent.middleware = [AgentLoopMiddleware(lambda *, iteration, **_: iteration < 2, max_iterations=3)]

    ended = await killed_and_finished(agent, counted, appends=AFTER_TWO_TOOLS)

    assert (ended.terminal["kind"], counted["add"]) == ("completed", 2), ended.terminal


@pytest.mark.behaviour("journal.parts")
@pytest.mark.parametrize(("seconds", "calls"), [(1e-9, 0), (3600.0, 2)])
async def test_a_limit_of_time_for_tools_holds_as_plain(seconds: float, calls: int) -> None:
    """`max_duration_seconds`: the same calls are made, and the caller gets the same answer."""
    (plain_count, plain), (hosted_count, hosted) = [limited(seconds) for _ in range(2)]

    answer = await plain.run("go")
    said = await OwnedApp(agent=hosted).say("ada", "go")

    assert (plain_count["dig"], hosted_count["dig"]) == (calls, calls)
    assert said.get("response") == answer.text, said


def limited(seconds: float) -> tuple[Counter[str], Agent[Any]]:
    """Return an agent that calls a tool twice if it has the time, and what was counted."""
    counted, note = counting()

    def dig(n: int) -> str:
        note("dig")
        return "earth"

    client = planned_client(note, (("dig",), ("dig",), "all done"))
    client.function_invocation_configuration["max_duration_seconds"] = seconds
    return counted, Agent(client, name="Clerk", tools=[dig])


@pytest.mark.behaviour("journal.parts")
def test_the_framework_ignores_the_task_options_of_a_server() -> None:
    """`MCPTaskOptions`: so they have no effect hosted either."""
    with pytest.warns(DeprecationWarning, match="task_options.* is deprecated and ignored"):
        MCPStreamableHTTPTool("shop", "http://127.0.0.1:9", task_options=MCPTaskOptions())
