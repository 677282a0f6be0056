"""The features of the official client for Python one by one, over a socket to a real host."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.subscriptions import ListenNotSupportedError, ResourceUpdated
from mcp_types import (
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    InputRequiredResult,
    ResourceTemplateReference,
    TextResourceContents,
)

from tests.support.carriers import GUARD_SECONDS
from tests.support.mcp_wire import PATH
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("mcp-endpoint.client"),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
]

HERE = Path(__file__).parent
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
THREAD = ResourceTemplateReference(uri="thread://{agent}/{thread_id}")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app on a host."""
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("features") / "app")) as host:
        yield host


@MODES
async def test_it_learns_who_serves_and_which_version(host: RunningHost, mode: Any) -> None:
    """From the handshake, or from what is discovered, which a later client may bring along."""
    async with Client(host.origin + PATH, mode=mode, client_info=Implementation(name="editor", version="1")) as client:
        served = (client.protocol_version, client.server_capabilities.completions is not None)
        name, instructions = client.server_info and client.server_info.name, client.instructions
        discovered = client.session.discover_result
    version = "2025-11-25" if mode == "legacy" else "2026-07-28"
    again: Any = {"mode": version, "prior_discover": discovered} if discovered else {"mode": mode}
    async with Client(host.origin + PATH, **again) as client:
        tools = (await client.list_tools()).tools

    assert served == (version, True)
    assert (name, "threadId" in (instructions or "")) == ("durable-agents", True)
    assert [tool.name for tool in tools] == ["Joker", "Clerk"]


@MODES
@pytest.mark.behaviour("mcp-endpoint.resources")
async def test_the_official_client_lists_and_reads_threads(host: RunningHost, mode: Any) -> None:
    """Of one agent after the other, by pages."""
    async with Client(host.origin + PATH, mode=mode) as client:
        for tool, query in (("Joker", "tell me a joke"), ("Clerk", "call look 1")):
            await client.call_tool(tool, {"query": query, "threadId": f"of-{tool}-{mode}"})
        wanted = {f"thread://Joker/of-Joker-{mode}": "tell me a joke", f"thread://Clerk/of-Clerk-{mode}": "call look 1"}
        titles: dict[str, str | None] = {}
        async with asyncio.timeout(2 * GUARD_SECONDS):
            while not wanted.items() <= titles.items():
                page, cursors = await client.list_resources(), 0
                titles |= {str(resource.uri): resource.title for resource in page.resources}
                while page.next_cursor is not None:
                    page, cursors = await client.list_resources(cursor=page.next_cursor), cursors + 1
                    titles |= {str(resource.uri): resource.title for resource in page.resources}
        (contents,) = (await client.read_resource(f"thread://Joker/of-Joker-{mode}")).contents
        templates = (await client.list_resource_templates()).resource_templates

    assert cursors == 1
    assert isinstance(contents, TextResourceContents)
    assert "echo: tell me a joke" in contents.text
    assert len(templates) == 2


@MODES
async def test_it_completes_the_address_of_a_thread(host: RunningHost, mode: Any) -> None:
    """The agent first, and then one of its threads."""
    async with Client(host.origin + PATH, mode=mode) as client:
        await client.call_tool("Joker", {"query": "hello", "threadId": f"of-{mode}"})
        agents = await client.complete(THREAD, {"name": "agent", "value": "J"})
        async with asyncio.timeout(2 * GUARD_SECONDS):
            threads: list[str] = []
            while not threads:
                argument = {"name": "thread_id", "value": f"of-{mode}"}
                threads = (await client.complete(THREAD, argument, {"agent": "Joker"})).completion.values

    assert (agents.completion.values, threads) == (["Joker"], [f"of-{mode}"])


async def test_it_is_told_when_a_thread_changes(host: RunningHost) -> None:
    """In the version that has such a stream; what it has read before is read anew then."""
    uri = "thread://Joker/watched"
    async with Client(host.origin + PATH, mode="auto") as client, Client(host.origin + PATH, mode="auto") as other:
        await client.call_tool("Joker", {"query": "first", "threadId": "watched"})
        async with client.listen(resource_subscriptions=[uri], tools_list_changed=True) as changes:
            before: Any = (await client.read_resource(uri)).contents[0]
            await other.call_tool("Joker", {"query": "second", "threadId": "watched"})
            change = await asyncio.wait_for(anext(changes), GUARD_SECONDS)
            async with asyncio.timeout(GUARD_SECONDS):
                after: Any = before
                while "echo: second" not in after.text:
                    after = (await client.read_resource(uri)).contents[0]
        honored = changes.honored
    async with Client(host.origin + PATH, mode="legacy") as client:
        with pytest.raises(ListenNotSupportedError):
            async with client.listen(resource_subscriptions=[uri]):
                pass

    assert change == ResourceUpdated(uri)
    assert (honored.resource_subscriptions, honored.tools_list_changed) == ([uri], None)
    assert "echo: second" not in before.text


async def test_its_program_answers_a_question_by_itself(host: RunningHost) -> None:
    """With what the result asked for and its state, instead of by a callback."""

    async def never(context: object, params: ElicitRequestParams) -> ElicitResult:
        raise AssertionError("the program answers")

    async with Client(
        host.origin + PATH, mode="auto", elicitation_callback=never, input_required_max_rounds=0
    ) as client:
        arguments = {"query": "call refund 7"}
        asked: Any = await client.session.call_tool("Clerk", arguments, allow_input_required=True)
        (name,) = asked.input_requests
        answers = {name: ElicitResult(action="accept", content={"approved": True})}
        done = await client.call_tool("Clerk", arguments, input_responses=answers, request_state=asked.request_state)

    assert isinstance(asked, InputRequiredResult)
    assert done.content[0].text == "told: refunded 7"


async def test_what_it_tells_of_itself_is_taken(host: RunningHost) -> None:
    """Without effect; a ping is answered."""
    async with Client(host.origin + PATH, mode="legacy") as client:
        pong = await client.send_ping()
        await client.send_progress_notification("p", 1.0)
        await client.send_roots_list_changed()
        traced = await client.call_tool("Joker", {"query": "hello"}, meta={"of.example/a": "b"})

    assert pong is not None
    assert traced.structured_content["response"] == "echo: hello"


@MODES
async def test_its_handler_of_messages_gets_progress(host: RunningHost, mode: Any) -> None:
    """As each notification that the server sends."""
    got: list[str] = []

    async def note(message: Any) -> None:
        got.append(message.method)

    async def follow(progress: float, total: float | None, message: str | None) -> None:
        pass

    async with Client(host.origin + PATH, mode=mode, message_handler=note) as client:
        await client.call_tool("Joker", {"query": "hello"}, progress_callback=follow)

    assert set(got) == {"notifications/progress"}
