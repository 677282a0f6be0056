"""The official clients, over a socket to a real host, and to two processes of one app."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, ResourceUpdated
from mcp_types import ElicitRequestParams, ElicitResult, Implementation, ResourceTemplateReference

from tests.support.carriers import GUARD_SECONDS
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.mcp_wire import HEADERS, PATH, Session, until
from tests.support.node_packages import RegistryUnreachableError, install
from tests.support.npm_client import printed_by
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("mcp-endpoint.client"),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
]

HERE = Path(__file__).parent
LOCK = HERE.parents[2] / "mcp" / "node"
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
THREAD = ResourceTemplateReference(uri="thread://{agent}/{thread_id}")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("clients") / "app")) as host:
        yield host


async def ended(host: RunningHost, thread: str) -> str:
    """Return how the run of a thread has ended, once it has."""
    url = f"{host.origin}/api/agents/Joker/threads/{thread}/runs"
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http, asyncio.timeout(GUARD_SECONDS):
        while True:
            (run,) = (await http.get(url)).json()["runs"]
            if run["status"] not in ("running", "accepted", "cancelling"):
                return str(run["status"])


@MODES
async def test_the_client_for_python_does_all_that_the_wire_serves(host: RunningHost, mode: Any) -> None:
    """In the version with a handshake, and in the one without; its handler of messages gets the progress, too."""
    asked, words, notified = [], [], set()

    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approved": True})

    async def follow(progress: float, total: float | None, message: str | None) -> None:
        words.append(message or "")

    async def note(message: Any) -> None:
        notified.add(message.method)

    async with Client(host.origin + PATH, mode=mode, elicitation_callback=answer, message_handler=note) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        spoken = await client.call_tool("Joker", {"query": "hello"}, progress_callback=follow)
        refund = await client.call_tool("Clerk", {"query": "call refund 7"})
        with pytest.raises(MCPError):
            await client.call_tool("Joker", {"query": "sleep 60", "threadId": f"left-{mode}"}, read_timeout_seconds=0.5)
        left = await ended(host, f"left-{mode}")

    assert tools == ["Joker", "Clerk"]
    assert "".join(words) == spoken.structured_content["response"] == "echo: hello"
    assert notified == {"notifications/progress"}
    assert refund.content[0].text == "told: refunded 7"
    assert asked == ['Clerk wants to call refund({"n": "7"}). Approve it?']
    assert left == "cancelled"


@MODES
@pytest.mark.behaviour("mcp-endpoint.resources")
async def test_it_learns_who_serves_and_reads_and_completes_threads(host: RunningHost, mode: Any) -> None:
    """What it discovered a later client may bring along. Threads are of one agent after the other, by pages."""
    info = Implementation(name="editor", version="1")
    async with Client(host.origin + PATH, mode=mode, client_info=info) as client:
        served = (client.protocol_version, client.server_capabilities.completions is not None)
        name, instructions = client.server_info and client.server_info.name, client.instructions
        discovered = client.session.discover_result
    again: Any = {"mode": VERSIONS[mode], "prior_discover": discovered} if discovered else {"mode": mode}
    async with Client(host.origin + PATH, **again) as client:
        for tool, query in (("Joker", "tell me a joke"), ("Clerk", "call look 1")):
            await client.call_tool(tool, {"query": query, "threadId": f"of-{tool}-{mode}"})
        wanted = {f"thread://Joker/of-Joker-{mode}": "tell me a joke", f"thread://Clerk/of-Clerk-{mode}": "call look 1"}
        titles: dict[str, str | None] = {}
        async with asyncio.timeout(2 * GUARD_SECONDS):
            while not wanted.items() <= titles.items():
                pages = [await client.list_resources()]
                while (cursor := pages[-1].next_cursor) is not None:
                    pages.append(await client.list_resources(cursor=cursor))
                titles |= {str(each.uri): each.title for page in pages for each in page.resources}
        contents: Any = (await client.read_resource(f"thread://Joker/of-Joker-{mode}")).contents[0]
        templates = (await client.list_resource_templates()).resource_templates
        agents = await client.complete(THREAD, {"name": "agent", "value": "J"})
        argument = {"name": "thread_id", "value": f"of-Joker-{mode}"}
        threads = await client.complete(THREAD, argument, {"agent": "Joker"})

    assert served == (VERSIONS[mode], True)
    assert (name, "threadId" in (instructions or "")) == ("durable-agents", True)
    assert (len(pages), len(templates)) == (2, 2)
    assert "echo: tell me a joke" in contents.text
    assert (agents.completion.values, threads.completion.values) == (["Joker"], [f"of-Joker-{mode}"])


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


async def test_its_program_answers_a_question_and_tells_of_itself(host: RunningHost) -> None:
    """With what the result asked for and its state, instead of by a callback. What it tells is taken without effect."""

    async def never(context: object, params: ElicitRequestParams) -> ElicitResult:
        raise AssertionError("the program answers")

    asks: Any = {"elicitation_callback": never, "input_required_max_rounds": 0}
    async with Client(host.origin + PATH, mode="auto", **asks) as client:
        arguments = {"query": "call refund 7"}
        asked: Any = await client.session.call_tool("Clerk", arguments, allow_input_required=True)
        (name,) = asked.input_requests
        answers = {name: ElicitResult(action="accept", content={"approved": True})}
        done = await client.call_tool("Clerk", arguments, input_responses=answers, request_state=asked.request_state)
    async with Client(host.origin + PATH, mode="legacy") as client:
        pong = await client.send_ping()
        await client.send_progress_notification("p", 1.0)
        await client.send_roots_list_changed()
        traced = await client.call_tool("Joker", {"query": "hello"}, meta={"of.example/a": "b"})

    assert done.content[0].text == "told: refunded 7"
    assert pong is not None
    assert traced.structured_content["response"] == "echo: hello"


@pytest.fixture(scope="module")
def packages(pytestconfig: pytest.Config) -> Path:
    """The folder with the clients for TypeScript; a test that needs it is skipped without npm's registry."""
    try:
        return install(LOCK, Path(pytestconfig.cache.mkdir("mcp-node")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of the MCP tools")


@pytest.mark.parametrize("version", ["1", "2"])
async def test_the_client_for_typescript_does_the_same(host: RunningHost, packages: Path, version: str) -> None:
    """Its first major version, and its second."""
    script = Path(shutil.copy(HERE / "client.mjs", packages))
    got = await printed_by(script, host.origin + PATH, version)

    assert got == {
        "tools": ["Joker", "Clerk"],
        "words": "echo: hello",
        "answer": "echo: hello",
        "refund": "told: refunded 7",
        "asked": ['Clerk wants to call refund({"n": "7"}). Approve it?'],
        "waits": 1,
        "left": "cancelled",
    }
    assert await ended(host, f"left-{version}") == "cancelled"


@pytest.mark.parametrize("version", ["1", "2"])
async def test_the_client_for_typescript_reads_completes_and_listens(
    host: RunningHost, packages: Path, version: str
) -> None:
    """What it does not get is refused by itself or by the app; the second version listens."""
    script = Path(shutil.copy(HERE / "features.mjs", packages))
    got = await printed_by(script, host.origin + PATH, version)
    listening = {
        "version": "2026-07-28",
        "honored": {"resourceSubscriptions": ["thread://Joker/ts-watched"]},
        "told": ["thread://Joker/ts-watched"],
        "closed": "local",
    }

    assert got == {
        "server": ["durable-agents", ["completions", "resources", "tools"], True],
        "ping": {},
        "templates": ["thread", "file"],
        "agents": ["Clerk"],
        "threads": [f"ts-{version}"],
        "listed": True,
        "read": True,
        "prompts": -32601,
        "subscribed": -32601,
        **(listening if version == "2" else {}),
    }


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupedApp]:
    """Two processes with the wire over one log and one engine, and one with the entities."""
    folder = shutil.copytree(HERE / "app", tmp_path_factory.mktemp("processes") / "app")
    with grouped_app(folder, log={"AGENT_LOG": f"sqlite:{folder / 'log.sqlite'}"}) as app:
        yield app


@pytest.mark.behaviour("mcp-endpoint.cancel")
async def test_a_call_is_cancelled_by_a_notification_to_another_process(processes: GroupedApp) -> None:
    """Of a thread that goes on, which that finds among the newest: those that the engine lists are committed."""
    clients = [
        httpx.AsyncClient(base_url=f"{process.origin}{PATH}", headers=HEADERS, timeout=GUARD_SECONDS)
        for process in processes.http
    ]
    here, there = await Session(clients[0]).begun(), Session(clients[1])
    there.headers = here.headers
    thread = (await here.call("hello"))["structuredContent"]["thread_id"]
    listed, url = list[str](), f"{processes.http[1].origin}/api/agents/Joker/threads"
    async with asyncio.timeout(2 * GUARD_SECONDS):
        while thread not in listed:
            listed = [each["thread_id"] for each in (await clients[1].get(url)).json()["threads"]]
    async with here.calling("sleep 60", arguments={"threadId": thread}) as events:
        await anext(events)
        await there.notify("notifications/cancelled", requestId=here.request("ping", {})["id"] - 1)
        last = await asyncio.wait_for(until(events, "result"), 2 * GUARD_SECONDS)

    assert last["result"]["structuredContent"]["code"] == "run_cancelled"


@pytest.mark.behaviour("mcp-endpoint.subscriptions")
async def test_the_official_client_is_told_of_what_another_process_did(processes: GroupedApp) -> None:
    uri = "thread://Joker/shared"
    here, there = (Client(host.origin + PATH, mode="auto") for host in processes.http)
    async with here, there, here.listen(resource_subscriptions=[uri]) as changes:
        await there.call_tool("Joker", {"query": "hello", "threadId": "shared"})
        change = await asyncio.wait_for(anext(changes), GUARD_SECONDS)

    assert change == ResourceUpdated(uri)
