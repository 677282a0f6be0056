"""Parts of agent-framework that run the model more often, or stop it: hosted, and through a kill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentLoopMiddleware,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    MCPStreamableHTTPTool,
    Message,
    MessageInjectionMiddleware,
    tool,
)

from hosting.core.thread.events import ToolStarted
from hosting.names import new_id
from hosting.tools import idempotent
from tests.support.cluster.cluster import Cluster
from tests.support.killed_runs import (
    AFTER_A_BEGIN,
    AFTER_A_TOOL,
    AFTER_TWO_TOOLS,
    counting,
    killed_and_finished,
)
from tests.support.planned import Note, Plan, PlannedModel, planned_agent, planned_client
from tests.support.tool_server import ToolServer


class Sent(ChatMiddleware):
    """The texts of each model call."""

    def __init__(self) -> None:
        self.texts: list[list[str]] = []

    async def process(self, context: ChatContext, call_next: Any) -> None:
        """Note them."""
        self.texts.append([message.text for message in context.messages])
        await call_next()


@pytest.mark.filterwarnings("ignore:.*experimental")
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


@pytest.mark.filterwarnings("ignore:.*experimental")
@pytest.mark.behaviour("journal.parts")
async def test_a_loop_goes_on_in_the_round_that_its_process_died_in() -> None:
    counted, note = counting()
    agent = planned_agent(note, plan=(("add",), "all done"))
    agent.middleware = [AgentLoopMiddleware(lambda *, iteration, **_: iteration < 2, max_iterations=3)]

    ended = await killed_and_finished(agent, counted, appends=AFTER_TWO_TOOLS)

    assert (ended.terminal["kind"], counted["add"]) == ("completed", 2), ended.terminal


LAST_MODEL_CALL = Counter({"model 3": 1})


@pytest.mark.behaviour("journal.nothing-twice")
async def test_arguments_that_the_framework_refused_are_refused_again() -> None:
    """The tool was not called for them, and the model gets the same result."""
    counted, note = counting()

    def counts(n: list[int]) -> int:
        note("counts")
        return len(n)

    agent = Agent(planned_client(note, (("counts",), ("counts",), "all done")), name="Joker", tools=[counts])

    ended = await killed_and_finished(agent, counted)

    assert (ended.terminal["kind"], ended.done_after) == ("completed", LAST_MODEL_CALL)
    assert "counts" not in counted


@pytest.mark.behaviour("journal.mcp-tools")
async def test_an_mcp_servers_tools_are_given_again_and_told_the_key_of_each_call() -> None:
    """Over a real socket; the whole answer that the framework keeps beside a result does not count."""
    counted, note = counting()

    with ToolServer() as server:
        agent = asks_twice(note, MCPStreamableHTTPTool("cities", server.url))
        ended = await killed_and_finished(agent, counted)

    assert (ended.terminal["kind"], ended.done_after) == ("completed", LAST_MODEL_CALL)
    assert server.keys == ["r-1-1.call-0-0", "r-1-2.call-1-0"]


@pytest.mark.behaviour("journal.mcp-tools")
@pytest.mark.parametrize("is_harmless", [False, True])
async def test_a_call_of_an_mcp_server_that_was_cut_short_is_made_again_only_if_the_server_is_idempotent(
    is_harmless: bool,
) -> None:
    """Declared for all its tools at once; then under the same key."""
    counted, note = counting()

    with ToolServer() as server:
        tool = MCPStreamableHTTPTool("cities", server.url)
        agent = asks_twice(note, idempotent(tool) if is_harmless else tool)
        ended = await killed_and_finished(agent, counted, appends=AFTER_A_BEGIN)

    assert ended.terminal["kind"] == ("completed" if is_harmless else "failed")
    assert server.keys == (["r-1-1.call-0-0", "r-1-2.call-1-0"] if is_harmless else [])


def asks_twice(note: Note, tool: Any) -> Agent[Any]:
    """Return an agent that calls `city_of` twice."""
    return Agent(planned_client(note, (("city_of",), ("city_of",), "all done")), name="Joker", tools=[tool])


INNER: Plan = (("add",), ("look",), "seven")
# Appends: the claim, `helper` begins, `add` begins and ends, `look` begins and ends.
LOOK_BEGAN, LOOK_ENDED = 5, 6


def asks_a_helper(note: Note, inner: Plan = INNER, outer: Plan = (("helper",), "all done")) -> Agent[Any]:
    """Return an agent whose tool `helper` is another agent; what that one does is noted as `inner`."""
    helper = planned_agent(lambda what: note(f"inner {what}"), plan=inner, name="Helper")
    tools = [helper.as_tool(name="helper", arg_name="n")]
    return Agent(planned_client(note, outer), name="Joker", tools=tools)


@pytest.mark.behaviour("journal.agents-as-tools")
async def test_a_tool_of_it_that_was_cut_short_ends_the_run() -> None:
    """As one of the agent that runs; the sentence names the tool, and not the agent that called it."""
    counted, note = counting()

    ended = await killed_and_finished(asks_a_helper(note), counted, appends=LOOK_BEGAN)

    assert (ended.terminal["code"], ended.done_after) == ("run_interrupted", Counter())
    assert "tool 'look'" in ended.terminal["detail"]


@pytest.mark.behaviour("journal.agents-as-tools")
async def test_every_call_inside_has_a_key_of_its_own() -> None:
    """Also where an agent is called twice at once, and by an agent that is a tool itself."""
    noted: list[str] = []
    inner = asks_a_helper(noted.append, inner=(("add",), "seven"), outer=(("helper", "helper"), "both"))
    tools = [inner.as_tool(name="middle", arg_name="n")]
    client = planned_client(noted.append, (("middle",), "all done"))
    app = Cluster(lambda: Agent(client, name="Joker", tools=tools)).process()

    run_id = await app.run("go")

    place = f"{run_id}-1.call-0-0/1.call-0"
    keys = {what.rpartition(" ")[2] for what in noted if what.startswith("inner add")}
    assert keys == {f"{place}-0/1.call-0-0", f"{place}-1/1.call-0-0"}
    started = [step for step in (await app.find_run(run_id)).steps if isinstance(step, ToolStarted)]
    assert Counter(step.name for step in started) == Counter(middle=1, helper=2, add=2)


class BareClient(FunctionInvocationLayer[Any], PlannedModel):
    """The planned model without chat middleware, as somebody's own client may be; like others it makes ids anew."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        response = await super().answer(messages, options)
        for content in response.messages[0].contents:
            if content.call_id is not None:
                content.call_id = new_id()
        return response


@pytest.mark.behaviour("journal.clients-without-middleware")
async def test_what_its_tools_did_is_not_done_again() -> None:
    counted, note = counting()
    client = BareClient()
    client.note, client.plan = note, (("add",), ("look",), "all done")
    agent = Agent(client, name="Joker", tools=planned_agent(note).default_options["tools"])

    ended = await killed_and_finished(agent, counted, appends=AFTER_TWO_TOOLS)

    assert ended.terminal["kind"] == "completed"
    assert ended.done_after == Counter({"model 1": 1, "model 2": 1, "model 3": 1})
