"""`tools/list` and `tools/call`: versions, results, progress, cancellation, and what is refused by which error."""

from __future__ import annotations

import asyncio
import base64
import re
from pathlib import Path
from typing import Annotated, Any, Never

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from jsonschema import Draft202012Validator
from mcp_types import methods
from pydantic import BaseModel, ConfigDict, Field

from hosting.errors import ConfigurationError
from hosting.features.mcp_endpoint.names import VERSIONS
from tests.hosting.features.mcp_endpoint.painter import LATIN, TABLE, painter_flow
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.flows import order_flow
from tests.support.made_app import MEMORY, app_of
from tests.support.mcp_wire import HANDSHAKE, STATELESS, Session, Wired, until, words
from tests.support.owned_app import signed_in

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "mcp-endpoint.md").read_text(encoding="utf-8")
OLDEST, OLDER, OLD = "2024-11-05", "2025-03-26", "2025-06-18"


@pytest.mark.behaviour("mcp-endpoint.versions")
@pytest.mark.parametrize(("wanted", "agreed"), [(OLDEST, OLDEST), (STATELESS, HANDSHAKE), ("2031-01-01", HANDSHAKE)])
async def test_a_handshake_agrees_on_a_version(wired: Wired, wanted: str, agreed: str) -> None:
    """The client's own where it is served, else the newest with a handshake."""
    assert (await Session(wired.http, wanted).begin())["protocolVersion"] == agreed


@pytest.mark.behaviour("mcp-endpoint.versions")
@pytest.mark.parametrize("version", VERSIONS)
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
async def test_a_notification_cancels_the_run(wired: Wired, handshake: Session) -> None:
    """Of a new thread, and of one that goes on; one of another request or session cancels nothing."""
    stranger = await Session(wired.http).begun()
    thread = (await handshake.call("hello"))["structuredContent"]["thread_id"]
    for arguments in ({}, {"threadId": thread}):
        async with handshake.calling("meet 2", arguments=arguments) as events:
            request_id = handshake.request("ping", {})["id"] - 1
            await handshake.notify("notifications/cancelled", requestId=request_id + 1000)
            await stranger.notify("notifications/cancelled", requestId=request_id)
            await wired.ours("POST", "Joker/run", {"message": "meet 2"})
            ended = await asyncio.wait_for(until(events, "result"), GUARD_SECONDS)
        async with handshake.calling("sleep 60", arguments=arguments) as events:
            request_id = handshake.request("ping", {})["id"] - 1
            await handshake.notify("notifications/cancelled", requestId=request_id)
            cancelled = await asyncio.wait_for(until(events, "result"), GUARD_SECONDS)

        assert ended["result"]["content"][0]["text"] == "2 have met"
        assert cancelled["result"]["structuredContent"]["code"] == "run_cancelled"


async def ended_runs(wired: Wired, thread: str) -> list[dict[str, Any]]:
    """Return the runs of a thread, the newest first, once all have ended."""
    async with asyncio.timeout(GUARD_SECONDS):
        while True:
            runs: list[dict[str, Any]] = (await wired.ours("GET", f"Joker/threads/{thread}/runs")).json()["runs"]
            if all(run["status"] not in ("accepted", "running", "cancelling") for run in runs):
                return runs
            await wired.ours("GET", f"Joker/threads/{thread}/runs/{runs[0]['run_id']}")


@pytest.mark.behaviour("mcp-endpoint.cancel")
async def test_a_client_without_a_handshake_cancels_by_closing_its_stream(wired: Wired) -> None:
    """As the version has it; one with a handshake only stops listening."""
    states = {}
    for version, thread in ((STATELESS, "s"), (HANDSHAKE, "h")):
        session = await Session(wired.http, version).begun()
        async with session.calling("tool thread_name", arguments={"threadId": thread}) as events:
            await anext(events)
        async with session.calling("sleep 0.3", arguments={"threadId": thread}):
            pass
        states[version] = [run["status"] for run in await ended_runs(wired, thread)]

    assert states[STATELESS][0] == "cancelled"
    assert states[HANDSHAKE][0] == "success"


@pytest.mark.behaviour("mcp-endpoint.tools")
async def test_a_client_without_streams_gets_one_answer(session: Session) -> None:
    """It asks nothing then: the result says where to answer."""
    session.headers["accept"] = "application/json"
    answered, waits = await session.call("hello"), await session.call("call refund 1", tool="Clerk")

    assert answered["structuredContent"]["response"] == "echo: hello"
    assert waits["structuredContent"]["pending_approvals"][0]["tool"] == "refund"
    assert "over the app's HTTP interface" in waits["content"][0]["text"]


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
    session = await Session(Wired(workflows=[painter_flow]).http, version).begun()
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
    session = await Session(Wired(workflows=[driver_flow, tour_flow, order_flow]).http, version).begun()
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
    deliver, takes = tools["Deliver"], Draft202012Validator(tools["Tour"]["inputSchema"])

    assert (deliver["description"], deliver["inputSchema"]) == ("Brings it.", Delivery.model_json_schema())
    inputs: list[Any] = [{"input": [{"street": "A"}]}, {"input": [{"street": 1}]}, {}]
    assert [takes.is_valid(each) for each in inputs] == [True, False, False]
    assert told["content"] == [{"type": "text", "text": "tea to High Street"}]
    assert toured["content"][0]["text"] == "A and B"
    assert sold["structuredContent"]["value"] == {"item": "tea", "total": 6}
    assert missing["structuredContent"]["code"] == "invalid_input"


PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
REFUSED = pytest.mark.behaviour("mcp-endpoint.refused")


@REFUSED
@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        ([], {}, 400, -32600),
        ({}, {}, 400, -32600),
        ({**PING, "jsonrpc": "1.0"}, {}, 400, -32600),
        ({**PING, "id": True}, {}, 400, -32600),
        ({**PING, "id": None}, {}, 400, -32600),
        ({**PING, "params": []}, {}, 400, -32600),
        (PING, {"mcp-session-id": "made-up"}, 404, -32602),
    ],
)
async def test_what_is_no_message_of_a_session_is_refused(
    refusing: Wired, message: Any, headers: dict[str, str], status: int, code: int
) -> None:
    """Clients of a session that is none begin a new one by its 404."""
    answer = await refusing.http.post("", json=message, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@REFUSED
async def test_a_method_or_a_tool_that_is_not_there_is_named(session: Session) -> None:
    method = await session.refused("prompts/list")
    tool = await session.refused("tools/call", name="Nobody", arguments={"query": "hi"})
    other_case = await session.refused("tools/call", name="joker", arguments={"query": "hi"})

    assert method[0] == -32601
    assert "tools/call" in method[1]
    assert tool == (-32602, "There is no tool 'Nobody'. Tools: Joker, Clerk.")
    assert other_case[0] == -32602


@REFUSED
@pytest.mark.behaviour("mcp-endpoint.versions")
async def test_a_version_that_is_not_served_is_refused_with_those_that_are(refusing: Wired) -> None:
    error = (await refusing.http.post("", json=PING, headers={"mcp-protocol-version": "2031-01-01"})).json()["error"]

    assert (error["code"], error["data"]["supported"]) == (-32022, [*VERSIONS])


@REFUSED
@pytest.mark.parametrize("header", ["mcp-method", "mcp-name", "mcp-protocol-version"])
async def test_a_header_that_contradicts_the_body_is_refused(refusing: Wired, header: str) -> None:
    session = Session(refusing.http, STATELESS)
    request = session.request("tools/call", {"name": "Joker", "arguments": {"query": "hi"}})
    wrong = {header: "2026-07-28" if header != "mcp-protocol-version" else "2026-07-28 "}
    if header == "mcp-protocol-version":
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = HANDSHAKE
        wrong = {}
    answer = await refusing.http.post("", json=request, headers={**session.headers_of(request), **wrong})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


@REFUSED
async def test_there_is_no_stream_without_a_call(refusing: Wired) -> None:
    """Clients that open one take 405 for no; an id of another app's event is refused."""
    stream = await refusing.http.get("")
    foreign = [
        (await refusing.http.get("", headers={"last-event-id": last})).status_code for last in ("x", "WzFd", "e~")
    ]

    assert (stream.status_code, stream.headers["allow"]) == (405, "POST, DELETE")
    assert foreign == [400, 400, 400]


@REFUSED
@pytest.mark.behaviour("mcp-endpoint.owners")
async def test_anothers_stream_is_not_followed() -> None:
    """By a client that knows the id of its event."""
    wired = Wired(principal=signed_in)
    ada, bob = Session(wired.http), Session(wired.http)
    await ada.begin(**{"x-user": "ada"})
    await bob.begin(**{"x-user": "bob"})
    async with ada.calling("hello") as events:
        place = (await anext(events)).id
    followed = await wired.http.get("", headers={**bob.headers, "last-event-id": place or ""})

    assert (followed.status_code, followed.json()["error"]["data"]["code"]) == (404, "unknown_run")


@REFUSED
def test_the_page_has_the_versions() -> None:
    """All that are served, and no others."""
    assert sorted({*re.findall(r"`(20\d\d-\d\d-\d\d)`", PAGE)}) == [*VERSIONS]
