"""Workflows that are given as agents (`as_agent()`): asked, streamed, asking, and refused; plain beside hosted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Never

import httpx
import pytest
from agent_framework import (
    Agent,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    Executor,
    FunctionalWorkflowAgent,
    Message,
    Workflow,
    WorkflowAgent,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
    step,
    workflow,
)
from agent_framework.orchestrations import ConcurrentBuilder, GroupChatBuilder, GroupChatState, SequentialBuilder

from hosting.core.thread.events import Delta
from hosting.errors import ConfigurationError
from hosting.features.workflows import as_agent
from tests.support.app.scripted import ScriptedModel, scripted_agent
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.life import DiedError
from tests.support.event_stream import parse, words
from tests.support.killed_runs import die_at
from tests.support.made_app import app_of, served

MESSAGES = ("say one", "recall", "see")


class Noting(ScriptedModel):
    """The scripted model, which notes what it is sent, and gives each message an id of its own."""

    def _inner_get_response(self, *, messages: Sequence[Message], **keywords: Any) -> Any:
        self.additional_properties["sent"].append([(message.role, message.text) for message in messages])
        return super()._inner_get_response(messages=messages, **keywords)

    async def _words(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        number = len(self.additional_properties["sent"])
        async for update in super()._words(messages, options):
            update.message_id = f"message-{number}"
            yield update


def agents(sent: list[Any]) -> list[Agent[Any]]:
    """Return two agents whose model notes what it is sent."""
    client = Noting(additional_properties={"sent": sent})
    return [Agent(client, f"You are {name}.", name=name) for name in ("First", "Second")]


def turn_of(state: GroupChatState) -> str:
    return list(state.participants)[state.current_round % 2]


BUILDERS: Mapping[str, Any] = {
    "sequential": lambda two: SequentialBuilder(participants=two).build(),
    "concurrent": lambda two: ConcurrentBuilder(participants=two).build(),
    "group chat": lambda two: GroupChatBuilder(participants=two, selection_func=turn_of, max_rounds=2).build(),
    "graph": lambda two: WorkflowBuilder(name="Graph", start_executor=two[0]).add_edge(*two).build(),
}


class Counting(Executor):
    """Yields what it is given, with the number of its turns, of the workflow's and of its own."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.turns = 0

    @handler
    async def count(self, messages: list[Message], ctx: WorkflowContext[Never, Any]) -> None:
        self.turns += 1
        ctx.set_state("turns", ctx.get_state("turns", 0) + 1)
        if messages[-1].text == "fail":
            raise ValueError("a secret of the executor")
        if messages[-1].text == "ask":
            await ctx.request_info("really?", bool)
            return
        said = [message.text for message in messages]
        await ctx.yield_output([f"{self.turns} {ctx.get_state('turns')}", {"said": said}, Content.from_text("end")])

    @response_handler
    async def answered(self, question: str, answer: bool, ctx: WorkflowContext[Never, Any]) -> None:
        await ctx.yield_output(f"{question} {answer}")

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"turns": self.turns}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.turns = state["turns"]


def counting() -> WorkflowAgent:
    return WorkflowBuilder(name="Flow", start_executor=Counting("counting")).build().as_agent("Counter")


async def run(http: httpx.AsyncClient, message: str, name: str = "Counter", **fields: Any) -> dict[str, Any]:
    answer = await http.post(f"/api/agents/{name}/run", json={"message": message, "thread_id": "t", **fields})
    return dict(answer.json())


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """An app of an agent that is a workflow, another agent, and a workflow."""
    described = counting()
    app = app_of(described, scripted_agent("Joker"), workflow=BUILDERS["graph"](agents([])))
    async with served(app) as (_, http):
        yield http


@pytest.mark.behaviour("workflows.as-agent")
@pytest.mark.parametrize(
    ("kind", "streams"), [("sequential", False), ("concurrent", True), ("group chat", True), ("graph", False)]
)
async def test_its_models_are_sent_and_its_callers_told_what_they_are_plain(kind: str, *, streams: bool) -> None:
    plain: list[Any] = []
    agent = BUILDERS[kind](agents(plain)).as_agent("Plain")
    session = agent.create_session()
    told = [(await agent.run(message, session=session, stream=True).get_final_response()).text for message in MESSAGES]

    hosted: list[Any] = []
    async with served(app_of(BUILDERS[kind](agents(hosted)).as_agent("Hosted"))) as (_, http):
        headers = {"accept": "text/event-stream"} if streams else {}
        replies = [
            await http.post("/api/agents/Hosted/run", json={"message": message, "thread_id": "t"}, headers=headers)
            for message in MESSAGES
        ]

    texts = [words(parse(reply.text)) if streams else reply.json()["response"] for reply in replies]
    assert [text.replace("\n", "") for text in texts] == [text.replace("\n", "") for text in told]
    assert sorted(hosted) == sorted(plain) if kind == "concurrent" else hosted == plain


@pytest.mark.behaviour("workflows.as-agent")
async def test_it_is_an_agent_to_its_callers(http: httpx.AsyncClient) -> None:
    listed = (await http.get("/api/agents")).json()["agents"]
    flows = (await http.get("/api/workflows")).json()["workflows"]
    described = (await http.get("/api/agents/Counter")).json()
    first = await run(http, "hello")
    refused = await run(http, "hello", response_format={"type": "object"})
    thread = (await http.get("/api/agents/Counter/threads/t")).json()

    assert [each["name"] for each in listed] == ["Counter", "Joker"]
    assert [each["name"] for each in flows] == ["Graph"]
    assert (described["kind"], described["name"]) == ("agent", "Counter")
    assert "value" not in first
    assert first["response"] == "1 1{'said': ['hello']}end"
    assert (refused["code"], first["message"]) == ("unknown_field", "hello")
    assert thread["message_count"] == 2
    assert (await http.get("/api/workflows/Counter")).json()["code"] == "unknown_agent"


@pytest.mark.behaviour("workflows.as-agent")
async def test_a_changed_graph_begins_anew_with_the_conversation(tmp_path: Path) -> None:
    """As after a deployment: no thread is lost by it."""
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    changed = WorkflowBuilder(name="Flow", start_executor=Counting("other")).build().as_agent("Counter")
    async with served(app_of(counting(), environ=environ)) as (dead, http):
        await run(http, "a")
    async with served(app_of(changed, environ=environ)) as (host, http):
        host.entities.take_over(dead.entities)
        body = await run(http, "b")

    assert body["response"].startswith("1 1{'said': ['a', ")


@pytest.mark.behaviour("workflows.as-agent")
async def test_a_state_that_is_too_large_ends_its_run(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_agent, "MOST_BYTES", 100)

    body = await run(http, "a")

    assert body["code"] == "checkpoint_not_kept"
    assert "bytes, of at most 100" in body["detail"]
    assert body["detail"].endswith("Continue on a new thread.")


@step
async def louder(text: str) -> str:
    return text.upper()


@workflow(name="Louder")
async def calling(text: str) -> list[str]:
    return [await louder(text)]


class Reminding(ContextProvider):
    """A provider."""


class Own(WorkflowAgent):
    """An agent that does more."""

    def run(self, *arguments: Any, **keywords: Any) -> Any:
        return super().run(*arguments, **keywords)


class OwnFunction(FunctionalWorkflowAgent):
    """An agent that does more."""

    def run(self, *arguments: Any, **keywords: Any) -> Any:
        return super().run(*arguments, **keywords)


def flow(name: str | None = "Flow") -> Workflow:
    return WorkflowBuilder(name=name, start_executor=Counting("counting")).build()


@pytest.mark.behaviour("workflows.refused")
@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (flow(None).as_agent(), "An agent that is a workflow has no name. Name it: as_agent(name='review')."),
        (Own(flow(), name="Own"), "Agent 'Own' (Own) is a workflow with a run() of its own"),
        (OwnFunction(calling.build(), name="Own"), "Agent 'Own' (OwnFunction) is a workflow with a run() of its own"),
        (
            flow().as_agent("Own", context_providers=[Reminding("reminding")]),
            "Agent 'Own' is a workflow with the context provider 'reminding' (Reminding)",
        ),
    ],
)
def test_what_would_be_left_out_is_refused(agent: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_of(agent)

    assert sentence in refused.value.detail


@pytest.mark.behaviour("workflows.as-agent")
async def test_a_function_is_an_agent_too() -> None:
    """What it returns is said as it is plain."""
    plain = (await calling.build().as_agent("Caller").run("hello")).text
    async with served(app_of(calling.build().as_agent("Caller"))) as (_, http):
        body = await run(http, "hello", name="Caller")

    assert (body["response"], plain) == ("['HELLO']", "['HELLO']")


class Teller(Executor):
    """Yields its name, and has the next one begin."""

    @handler
    async def tell(self, given: list[Message], ctx: WorkflowContext[list[Message], str]) -> None:
        await ctx.yield_output(self.id)
        await ctx.send_message(given)


def telling() -> WorkflowAgent:
    first, second, third = (Teller(name) for name in ("first", "second", "third"))
    graph = WorkflowBuilder(name="Flow", start_executor=first).add_edge(first, second).add_edge(second, third)
    return graph.build().as_agent("Joker")


@pytest.mark.moved_time
@pytest.mark.behaviour("workflows.as-agent")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_wherever_its_process_is_killed_its_text_goes_on_where_it_stood(when: str) -> None:
    """What it yielded before its newest checkpoint is neither taken back from whoever reads along nor told again."""
    kills = 0
    for number in range(1, 20):
        cluster = Cluster(telling, settings={"AGENT_STREAM_BATCH_SECONDS": "0"})
        one, other = cluster.process(), cluster.process()
        run_id = await one.open("go", streamed=True)
        die_at(one, number, when)
        with suppress(DiedError):
            await one.deliver(run_id)
            break
        await other.deliver(run_id)
        kills += 1
        deltas = [event for event in await other.run_events(run_id) if isinstance(event, Delta)]
        await cluster.close()
        assert {(delta.offset, delta.text) for delta in deltas} == {(0, "first"), (5, "\n\nsecond"), (13, "\n\nthird")}
    assert kills > 7
