"""`tools/list` and `tools/call`: results, progress, cancellation, and requests that come again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp_types import methods

from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.flows import text_flow
from tests.support.made_app import MEMORY, app_of
from tests.support.mcp_wire import HANDSHAKE, STATELESS, Session, Wired, until, words


@pytest.mark.behaviour("mcp-endpoint.versions")
async def test_a_handshake_agrees_on_a_version_and_gives_a_session(wired: Wired) -> None:
    """The client's own where it is served, else the newest with a handshake."""
    agreed = []
    for version in ("2024-11-05", HANDSHAKE, "2031-01-01", STATELESS):
        session = Session(wired.http, version)
        agreed.append((await session.begin())["protocolVersion"])
        assert len(session.headers["mcp-session-id"]) > 32

    assert agreed == ["2024-11-05", HANDSHAKE, HANDSHAKE, HANDSHAKE]


@pytest.mark.behaviour("mcp-endpoint.versions")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE, STATELESS])
async def test_each_result_is_one_of_its_version(wired: Wired, version: str) -> None:
    """By the official models."""
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
async def test_a_workflow_that_takes_words_is_a_tool() -> None:
    """Beside the agents."""
    wired = Wired(workflows=[text_flow])
    async with wired.http:
        session = Session(wired.http, STATELESS)
        listed = await session.result("tools/list")
        called = await session.call("hello", tool=listed["tools"][-1]["name"])

    assert len(listed["tools"]) == 3
    assert called["isError"] is False


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


@pytest.mark.behaviour("mcp-endpoint.once")
async def test_a_request_that_comes_again_is_one_run(handshake: Session) -> None:
    """Another call under its id is refused, and another session has ids of its own."""
    first = await handshake.call("count", request_id="r")
    again = await handshake.call("count", request_id="r")
    other = await handshake.call("else", request_id="r")
    stranger = Session(handshake.http)
    await stranger.begin()
    theirs = await stranger.call("count", request_id="r")

    assert again == first
    assert other["structuredContent"] == {"code": "idempotency_key_reused"}
    assert theirs["structuredContent"]["run_id"] != first["structuredContent"]["run_id"]


@pytest.mark.behaviour("mcp-endpoint.tools")
async def test_a_client_without_streams_gets_one_answer(session: Session) -> None:
    """It asks nothing then: the result says where to answer."""
    session.headers["accept"] = "application/json"
    answered, waits = await session.call("hello"), await session.call("call refund 1", tool="Clerk")

    assert answered["structuredContent"]["response"] == "echo: hello"
    assert waits["structuredContent"]["pending_approvals"][0]["tool"] == "refund"
    assert "over the app's HTTP interface" in waits["content"][0]["text"]


@pytest.mark.behaviour("mcp-endpoint.resume")
@pytest.mark.parametrize(
    ("agreed", "header", "is_first"),
    [(HANDSHAKE, HANDSHAKE, True), (HANDSHAKE, "2025-03-26", True), ("2025-03-26", "2025-03-26", False)],
)
async def test_a_stream_begins_with_its_place_if_the_agreed_version_has_such_events(
    wired: Wired, agreed: str, header: str, is_first: bool
) -> None:
    """So a client that has no event yet can go on too; clients of older versions break off at one without data."""
    session = Session(wired.http, agreed)
    await session.begin()
    session.headers["mcp-protocol-version"] = header
    async with session.calling("hello") as events:
        first = await anext(events)

    assert (first.value is None) is is_first
