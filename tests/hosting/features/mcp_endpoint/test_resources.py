"""The caller's threads as resources, and the files of their runs."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import TextResourceContents, methods

from tests.hosting.features.mcp_endpoint.painter import painter_flow
from tests.support.carriers import GUARD_SECONDS
from tests.support.mcp_wire import HANDSHAKE, PATH, STATELESS, Session, Wired, signed_in
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.behaviour("mcp-endpoint.resources")


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """An app whose callers have threads of their own, with a workflow that answers with files."""
    wired = Wired(workflows=[painter_flow], principal=signed_in)
    async with wired.http:
        yield wired


@pytest.fixture
def ada(wired: Wired) -> Session:
    """A client of Ada."""
    return Session(wired.http, STATELESS)


async def read(session: Session, uri: str) -> dict[str, Any]:
    """Return the content of a resource; the result is one of its version by the official models."""
    result = await session.result("resources/read", uri=uri)
    methods.validate_server_result("resources/read", session.version, result)
    (contents,) = result["contents"]
    assert contents["uri"] == uri
    return dict(contents)


async def test_a_thread_is_read_as_its_conversation(wired: Wired, ada: Session) -> None:
    """As over HTTP, the newest entry first."""
    await ada.call("hello", "t")
    contents = await read(ada, "thread://Joker/t")
    of_http = await wired.http.get("http://app.example/api/agents/Joker/threads/t/messages?order=desc&limit=50")

    assert contents["mimeType"] == "application/json"
    assert json.loads(contents["text"])["entries"] == of_http.json()["entries"]
    assert [entry["type"] for entry in of_http.json()["entries"]] == ["response", "request"]
    assert (await read(ada, "thread://joker/t"))["text"] == contents["text"]


async def test_a_file_in_a_result_is_read_under_its_address(ada: Session) -> None:
    """Pictures too, which a result has without one."""
    result = await ada.call("picture table archive", tool="Painter")
    embedded = [block["resource"] for block in result["content"] if block["type"] == "resource"]
    first = embedded[0]["uri"].rpartition("/")[0]

    assert [await read(ada, resource["uri"]) for resource in embedded] == embedded
    assert (await read(ada, f"{first}/0"))["mimeType"] == "image/png"


NO_RESOURCES = (
    *("thread://Joker/none", "thread://Nobody/t", "thread://Joker", "thread://", "", "other://Joker/t"),
    *("thread://Joker/t/x", "thread://Joker/t/RUN/0", "thread://Joker/t/RUN/x", "thread://Joker/t/RUN/-1"),
    *("thread://Joker/t/RUN/0/0", "thread://Joker/t/none/0", "thread://Joker/a%2Fb", "thread://Joker/a b"),
)


async def test_what_is_no_resource_of_the_caller_is_not_there(ada: Session) -> None:
    """Nor is a link: nobody fetches it. A sentence says what to do."""
    run_id = (await ada.call("hello", "t"))["structuredContent"]["run_id"]
    link = (await ada.call("link", tool="Painter"))["structuredContent"]
    for uri in (*NO_RESOURCES, f"thread://Painter/{link['thread_id']}/{link['run_id']}/0"):
        error = (await ada.rpc("resources/read", uri=uri.replace("RUN", run_id)))["error"]

        assert (error["code"], error["data"]["code"]) == (-32602, "unknown_resource"), uri
        assert error["message"].endswith("List the resources.")


async def test_anothers_thread_and_file_are_not_there(wired: Wired, ada: Session) -> None:
    """Whoever knows the address reads threads of their own alone."""
    await ada.call("hello", "t")
    file = (await ada.call("table", tool="Painter"))["content"][0]["resource"]["uri"]
    ada.headers["x-user"] = "bob"
    codes = [(await ada.rpc("resources/read", uri=uri))["error"]["data"]["code"] for uri in ("thread://Joker/t", file)]

    assert codes == ["unknown_resource"] * 2


@pytest.mark.parametrize("cursor", ["", "x", "Nobody:", 7, ["Joker:"], "Joker:\u00e9"])
async def test_a_cursor_that_is_none_of_ours_is_refused(ada: Session, cursor: object) -> None:
    """It names what to send, as a resource without an address does."""
    code, sentence = await ada.refused("resources/list", cursor=cursor)

    assert (code, "cursor" in sentence) == (-32602, True)
    assert (await ada.refused("resources/read"))[0] == -32602


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", HANDSHAKE, STATELESS])
async def test_the_templates_are_those_of_the_version(wired: Wired, version: str) -> None:
    """By the official models."""
    result = await Session(wired.http, version).result("resources/templates/list")

    methods.validate_server_result("resources/templates/list", version, result)
    assert [template["name"] for template in result["resourceTemplates"]] == ["thread", "file"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_lists_and_reads_threads(tmp_path: Path, mode: Any) -> None:
    """Of one agent after the other, by pages."""
    with RunningHost(shutil.copytree(Path(__file__).parent / "app", tmp_path / "app")) as host:
        async with Client(host.origin + PATH, mode=mode) as client:
            for tool, query in (("Joker", "tell me a joke"), ("Clerk", "call look 1")):
                await client.call_tool(tool, {"query": query, "threadId": f"of-{tool}"})
            found: dict[str, str | None] = {}
            async with asyncio.timeout(2 * GUARD_SECONDS):
                while len(found) < 2:
                    page, cursors = await client.list_resources(), 0
                    found |= {str(resource.uri): resource.title for resource in page.resources}
                    while page.next_cursor is not None:
                        page, cursors = await client.list_resources(cursor=page.next_cursor), cursors + 1
                        found |= {str(resource.uri): resource.title for resource in page.resources}
            (contents,) = (await client.read_resource("thread://Joker/of-Joker")).contents
            templates = (await client.list_resource_templates()).resource_templates

    assert found == {"thread://Joker/of-Joker": "tell me a joke", "thread://Clerk/of-Clerk": "call look 1"}
    assert cursors == 1
    assert isinstance(contents, TextResourceContents)
    assert "echo: tell me a joke" in contents.text
    assert len(templates) == 2
