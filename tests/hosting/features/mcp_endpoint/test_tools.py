"""`tools/list` and `tools/call`: results, progress, cancellation, and requests that come again."""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Any, Never

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from jsonschema import Draft202012Validator
from mcp_types import methods
from pydantic import BaseModel, ConfigDict, Field

from hosting.errors import ConfigurationError
from tests.hosting.features.mcp_endpoint.painter import LATIN, TABLE, painter_flow
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.flows import order_flow
from tests.support.made_app import MEMORY, app_of
from tests.support.mcp_wire import HANDSHAKE, STATELESS, Session, Wired, until, words


@pytest.mark.behaviour("mcp-endpoint.versions")
@pytest.mark.parametrize(("wanted", "agreed"), [("2024-11-05",) * 2, (STATELESS, HANDSHAKE), ("2031-01-01", HANDSHAKE)])
async def test_a_handshake_agrees_on_a_version(wired: Wired, wanted: str, agreed: str) -> None:
    """The client's own where it is served, else the newest with a handshake."""
    assert (await Session(wired.http, wanted).begin())["protocolVersion"] == agreed


@pytest.mark.behaviour("mcp-endpoint.versions")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE, STATELESS])
async def test_each_result_is_one_of_its_version(wired: Wired, version: str) -> None:
    session = Session(wired.http, version)
    if version != STATELESS:
        methods.validate_server_result("initialize", version, await session.begin())
        assert await session.result("ping") == {}
    else:
        methods.validate_server_result("server/discover", version, await session.result("server/discover"))
    listed, called = await session.result("tools/list"), await session.call("hello")

    methods.validate_server_result("tools/list", version, listed)
    methods.validate_server_result("tools/call", version, called)
    assert [tool["name"] for tool in listed["tools"]] == ["Joker", "Clerk"]


@pytest.mark.behaviour("mcp-endpoint.tools")
def test_two_agents_of_one_tool_are_refused_at_the_start() -> None:
    """Clients name a tool by its name alone."""
    one, other = scripted_agent("Joker"), scripted_agent("Clown")
    app = app_of(one, wires=["mcp"], environ=MEMORY)

    with pytest.raises(ConfigurationError, match="would both be the MCP tool 'joker'"):
        app.add_agent(other, enable_mcp_tool_trigger=True, mcp_tool_name="joker")


@pytest.mark.behaviour("mcp-endpoint.progress")
async def test_words_come_as_progress(session: Session) -> None:
    """Each with more progress than the one before, and the result last."""
    async with session.calling("one two three") as events:
        values = [event.value async for event in events if event.value is not None]
    *news, last = values

    progress = [value["params"]["progress"] for value in news]
    assert {value["method"] for value in news} == {"notifications/progress"}
    assert {value["params"]["progressToken"] for value in news} == {"p"}
    assert words(news) == "echo: one two three"
    assert progress == sorted(set(progress))
    assert last["result"]["content"][0]["text"] == "echo: one two three"


@pytest.mark.behaviour("mcp-endpoint.cancel")
async def test_a_notification_cancels_the_run(handshake: Session) -> None:
    """Of a new thread, and of one that goes on."""
    thread = (await handshake.call("hello"))["structuredContent"]["thread_id"]
    for arguments in ({}, {"threadId": thread}):
        async with handshake.calling("sleep 60", arguments=arguments) as events:
            request_id = handshake.request("ping", {})["id"] - 1
            await handshake.notify("notifications/cancelled", requestId=request_id)
            ended = await asyncio.wait_for(until(events, "result"), GUARD_SECONDS)

        assert ended["result"]["structuredContent"]["code"] == "run_cancelled"


@pytest.mark.behaviour("mcp-endpoint.cancel")
async def test_a_client_without_a_handshake_cancels_by_closing_its_stream(wired: Wired) -> None:
    """As the version has it; one with a handshake only stops listening."""
    states = {}
    for version, thread in ((STATELESS, "s"), (HANDSHAKE, "h")):
        session = Session(wired.http, version)
        if version == HANDSHAKE:
            await session.begin()
        async with session.calling("tool thread_name", arguments={"threadId": thread}) as events:
            await anext(events)
        async with session.calling("sleep 0.3", arguments={"threadId": thread}):
            pass
        states[version] = [run["status"] for run in await ended_runs(wired, thread)]

    assert states[STATELESS][0] == "cancelled"
    assert states[HANDSHAKE][0] == "success"


async def ended_runs(wired: Wired, thread: str) -> list[dict[str, Any]]:
    """Return the runs of a thread, the newest first, once all have ended."""
    url = f"http://app.example/api/agents/Joker/threads/{thread}/runs"
    async with asyncio.timeout(GUARD_SECONDS):
        while True:
            runs: list[dict[str, Any]] = (await wired.http.get(url)).json()["runs"]
            if all(run["status"] not in ("accepted", "running", "cancelling") for run in runs):
                return runs
            await wired.http.get(f"http://app.example/api/agents/Joker/threads/{thread}/runs/{runs[0]['run_id']}")


@pytest.mark.behaviour("mcp-endpoint.tools")
async def test_a_client_without_streams_gets_one_answer(session: Session) -> None:
    """It asks nothing then: the result says where to answer."""
    session.headers["accept"] = "application/json"
    answered, waits = await session.call("hello"), await session.call("call refund 1", tool="Clerk")

    assert answered["structuredContent"]["response"] == "echo: hello"
    assert waits["structuredContent"]["pending_approvals"][0]["tool"] == "refund"
    assert "over the app's HTTP interface" in waits["content"][0]["text"]


OLDEST, OLDER, OLD = "2024-11-05", "2025-03-26", "2025-06-18"


@pytest.mark.behaviour("mcp-endpoint.contents")
@pytest.mark.parametrize(
    ("version", "query", "kinds"),
    [
        (OLDEST, "sound link", ["text", "text"]),
        (OLDER, "sound link", ["audio", "text"]),
        (OLD, "sound link", ["audio", "resource_link"]),
        (STATELESS, "table latin archive", ["resource"] * 3),
    ],
)
async def test_contents_are_of_the_kinds_that_a_version_has(version: str, query: str, kinds: list[str]) -> None:
    """Clients break off at one that they do not know. A file is a resource with its text or its bytes."""
    wired = Wired(workflows=[painter_flow])
    async with wired.http:
        session = Session(wired.http, version)
        if version != STATELESS:
            await session.begin()
        result = await session.call(query, tool="Painter")
    methods.validate_server_result("tools/call", version, result)
    content = result["content"]
    files = [block["resource"] for block in content if block["type"] == "resource"]

    assert (result["isError"], [block["type"] for block in content]) == (False, kinds)
    assert "https://example.com/a.png" in str(content) or files
    assert [(file["mimeType"], file.get("text", file.get("blob"))) for file in files] == [
        *(("text/csv", TABLE), ("text/plain", encoded(LATIN)), ("application/zip", encoded(b"PK"))),
    ][: len(files)]
    assert len({file["uri"] for file in files}) == len(files)


def encoded(body: bytes) -> str:
    return base64.b64encode(body).decode()


class Place(BaseModel):
    """Where."""

    street: str


class Delivery(BaseModel):
    """What goes where."""

    model_config = ConfigDict(extra="forbid")

    item: Annotated[str, Field(description="What to bring.")]
    place: Place


class Driver(Executor):
    """Takes what has a type of its own."""

    @handler
    async def drive(self, delivery: Delivery, ctx: WorkflowContext[Never, str]) -> None:
        """Say where it goes."""
        await ctx.yield_output(f"{delivery.item} to {delivery.place.street}")


class Tour(Executor):
    """Takes what is no object."""

    @handler
    async def drive(self, places: list[Place], ctx: WorkflowContext[Never, str]) -> None:
        """Say where it goes."""
        await ctx.yield_output(" and ".join(place.street for place in places))


def driver_flow() -> Workflow:
    return WorkflowBuilder(name="Deliver", description="Brings it.", start_executor=Driver("driver")).build()


def tour_flow() -> Workflow:
    return WorkflowBuilder(name="Tour", start_executor=Tour("tour")).build()


@pytest.mark.behaviour("mcp-endpoint.typed-tools")
@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
async def test_the_arguments_of_a_call_are_the_workflows_input(version: str) -> None:
    """As its author wrote the fields; another type is one argument. The result has its words, or its value."""
    wired = Wired(workflows=[driver_flow, tour_flow, order_flow])
    async with wired.http:
        session = Session(wired.http, version)
        if version == HANDSHAKE:
            await session.begin()
        tools = {tool["name"]: tool for tool in (await session.result("tools/list"))["tools"]}
        results = [
            await session.result("tools/call", name=name, arguments=arguments)
            for name, arguments in (
                ("Deliver", {"item": "tea", "place": {"street": "High Street"}}),
                ("Tour", {"input": [{"street": "A"}, {"street": "B"}]}),
                ("Orders", {"item": "tea", "count": 2}),
                ("Tour", {}),
            )
        ]
    for result in results:
        methods.validate_server_result("tools/call", version, result)
    told, toured, sold, missing = results

    assert (tools["Deliver"]["description"], tools["Deliver"]["inputSchema"]) == (
        "Brings it.",
        Delivery.model_json_schema(),
    )
    takes = Draft202012Validator(tools["Tour"]["inputSchema"])
    assert [takes.is_valid(each) for each in ({"input": [{"street": "A"}]}, {"input": [{"street": 1}]}, {})] == [
        *(True, False, False),
    ]
    assert told["content"] == [{"type": "text", "text": "tea to High Street"}]
    assert toured["content"][0]["text"] == "A and B"
    assert sold["structuredContent"]["value"] == {"item": "tea", "total": 6}
    assert missing["structuredContent"]["code"] == "invalid_input"
