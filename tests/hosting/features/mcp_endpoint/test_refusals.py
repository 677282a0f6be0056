"""What is not served, and by which error: each with a sentence and our code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hosting.features.mcp_endpoint.names import VERSIONS
from tests.support.mcp_wire import HANDSHAKE, STATELESS, Session, Wired
from tests.support.owned_app import signed_in

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "mcp-endpoint.md").read_text(encoding="utf-8")
PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
pytestmark = pytest.mark.behaviour("mcp-endpoint.refused")


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


async def test_a_method_or_a_tool_that_is_not_there_is_named(session: Session) -> None:
    method = await session.refused("prompts/list")
    tool = await session.refused("tools/call", name="Nobody", arguments={"query": "hi"})
    other_case = await session.refused("tools/call", name="joker", arguments={"query": "hi"})

    assert method[0] == -32601
    assert "tools/call" in method[1]
    assert tool == (-32602, "There is no tool 'Nobody'. Tools: Joker, Clerk.")
    assert other_case[0] == -32602


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


async def test_there_is_no_stream_without_a_call(refusing: Wired) -> None:
    """Clients that open one take 405 for no; an id of another app's event is refused."""
    stream = await refusing.http.get("")
    foreign = [
        (await refusing.http.get("", headers={"last-event-id": last})).status_code for last in ("x", "WzFd", "e~")
    ]

    assert (stream.status_code, stream.headers["allow"]) == (405, "POST, DELETE")
    assert foreign == [400, 400, 400]


@pytest.mark.behaviour("mcp-endpoint.owners")
async def test_anothers_thread_is_not_there() -> None:
    """Nor is a stream of theirs, and who is not signed in is refused."""
    wired = Wired(principal=signed_in)
    async with wired.http:
        ada, bob = Session(wired.http), Session(wired.http)
        await ada.begin(**{"x-user": "ada"})
        await bob.begin(**{"x-user": "bob"})
        thread = (await ada.call("my secret"))["structuredContent"]["thread_id"]
        async with ada.calling("hello") as events:
            place = (await anext(events)).id
        recalled = await bob.call("recall", thread)
        followed = await wired.http.get("", headers={**bob.headers, "last-event-id": place or ""})
        unsigned = await wired.http.post("", json=PING)

    assert recalled["structuredContent"]["response"] == "recall"
    assert (followed.status_code, followed.json()["error"]["data"]["code"]) == (404, "unknown_run")
    assert (unsigned.status_code, unsigned.json()["error"]["data"]["code"]) == (401, "unauthorized")
    assert unsigned.headers["www-authenticate"] == "Bearer"


async def test_the_page_has_the_versions_and_the_methods(wired: Wired) -> None:
    """All that are served, and no others."""
    versions = re.findall(r"`(20\d\d-\d\d-\d\d)`", PAGE)

    assert sorted({*versions}) == [*VERSIONS]
