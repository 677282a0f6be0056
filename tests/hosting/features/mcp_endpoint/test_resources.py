"""The caller's threads as resources, and the files of their runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from mcp_types import methods

from tests.hosting.features.mcp_endpoint.painter import painter_flow
from tests.support.carriers import GUARD_SECONDS
from tests.support.mcp_wire import HANDSHAKE, STATELESS, Event, Session, Wired, signed_in


@pytest.fixture
def wired() -> Wired:
    """An app whose callers have threads of their own, with a workflow that answers with files."""
    return Wired(workflows=[painter_flow], principal=signed_in)


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


@pytest.mark.behaviour("mcp-endpoint.resources")
async def test_a_thread_is_read_as_its_conversation(wired: Wired, ada: Session) -> None:
    """As over HTTP, the newest entry first."""
    await ada.call("hello", "t")
    contents = await read(ada, "thread://Joker/t")
    of_http = await wired.ours("GET", "Joker/threads/t/messages?order=desc&limit=50")

    assert contents["mimeType"] == "application/json"
    assert json.loads(contents["text"])["entries"] == of_http.json()["entries"]
    assert [entry["type"] for entry in of_http.json()["entries"]] == ["response", "request"]
    assert (await read(ada, "thread://joker/t"))["text"] == contents["text"]


@pytest.mark.behaviour("mcp-endpoint.resources")
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


@pytest.mark.behaviour("mcp-endpoint.resources")
async def test_what_is_no_resource_of_the_caller_is_not_there(ada: Session) -> None:
    """Nor is a link: nobody fetches it. A sentence says what to do."""
    run_id = (await ada.call("hello", "t"))["structuredContent"]["run_id"]
    link = (await ada.call("link", tool="Painter"))["structuredContent"]
    for uri in (*NO_RESOURCES, f"thread://Painter/{link['thread_id']}/{link['run_id']}/0"):
        error = (await ada.rpc("resources/read", uri=uri.replace("RUN", run_id)))["error"]

        assert (error["code"], error["data"]["code"]) == (-32602, "unknown_resource"), uri
        assert error["message"].endswith("List the resources.")


@pytest.mark.behaviour("mcp-endpoint.resources")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", HANDSHAKE, STATELESS])
async def test_the_templates_are_those_of_the_version(wired: Wired, version: str) -> None:
    result = await Session(wired.http, version).result("resources/templates/list")

    methods.validate_server_result("resources/templates/list", version, result)
    assert [template["name"] for template in result["resourceTemplates"]] == ["thread", "file"]


TEMPLATE = "thread://{agent}/{thread_id}"
FILE = f"{TEMPLATE}/{{run_id}}/{{number}}"


async def completed(session: Session, name: str, value: str, uri: str = TEMPLATE, **arguments: str) -> dict[str, Any]:
    """Return a completion; it is one of its version by the official models."""
    context = {"context": {"arguments": arguments}} if arguments else {}
    params = {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}, **context}
    result = await session.result("completion/complete", **params)
    methods.validate_server_result("completion/complete", session.version, result)
    completion: dict[str, Any] = result["completion"]
    return completion


@pytest.mark.behaviour("mcp-endpoint.completion")
@pytest.mark.parametrize("uri", [TEMPLATE, FILE])
async def test_agents_and_the_callers_own_threads_are_offered(wired: Wired, ada: Session, uri: str) -> None:
    """By what the caller has typed; a thread's agent is known by then."""
    for thread, tool in (("trip-1", "Joker"), ("trip-2", "Joker"), ("diary", "Joker"), ("trip-3", "Clerk")):
        await ada.call("hello" if tool == "Joker" else "call look 1", thread, tool=tool)
    bob = Session(wired.http, STATELESS)
    bob.headers["x-user"] = "bob"
    await bob.call("hello", "trip-of-bob")
    agents = [await completed(ada, "agent", value, uri) for value in ("", "jo", "x")]
    threads = await completed(ada, "thread_id", "trip", uri, agent="joker")
    without = await completed(ada, "thread_id", "trip", uri)
    number = await completed(ada, "number", "", uri, agent="Joker")

    assert [each["values"] for each in agents] == [["Joker", "Clerk", "Painter"], ["Joker"], []]
    assert (sorted(threads["values"]), threads["total"], threads["hasMore"]) == (["trip-1", "trip-2"], 2, False)
    assert without["values"] == number["values"] == []


ADDRESS = {"type": "ref/resource", "uri": TEMPLATE}
OF_AGENT = {"name": "agent", "value": ""}
OF_THREAD = {"name": "thread_id", "value": ""}
WATCHED = [f"thread://Joker/t-{number}" for number in range(21)]


@pytest.mark.behaviour("mcp-endpoint.resources")
@pytest.mark.behaviour("mcp-endpoint.completion")
@pytest.mark.behaviour("mcp-endpoint.subscriptions")
@pytest.mark.parametrize(
    ("method", "params", "says"),
    [
        *(("resources/list", {"cursor": cursor}, "cursor") for cursor in ("", "Nobody:", 7, "Joker:\u00e9")),
        ("resources/read", {}, "uri"),
        ("completion/complete", {}, "params.ref"),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": OF_AGENT}, "params.ref"),
        ("completion/complete", {"ref": {**ADDRESS, "uri": "test://x"}, "argument": OF_AGENT}, "params.ref"),
        ("completion/complete", {"ref": {**ADDRESS, "uri": [TEMPLATE]}, "argument": OF_AGENT}, "params.ref"),
        ("completion/complete", {"ref": ADDRESS}, "params.argument.name"),
        ("completion/complete", {"ref": ADDRESS, "argument": {"name": "a", "value": 5}}, "argument.value"),
        (
            "completion/complete",
            {"ref": ADDRESS, "argument": OF_THREAD, "context": {"arguments": {"agent": 5}}},
            "params.context.arguments.agent",
        ),
        *(
            ("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}}, "resourceSubscriptions")
            for uris in (5, [5])
        ),
        ("subscriptions/listen", {"notifications": {"resourceSubscriptions": WATCHED}}, "at most 20 threads"),
    ],
)
async def test_a_parameter_that_is_none_is_refused_by_name(
    ada: Session, method: str, params: dict[str, Any], says: str
) -> None:
    code, sentence = await ada.refused(method, **params)

    assert (code, says in sentence) == (-32602, True), sentence


THREAD = "thread://Joker/t"


async def following(events: AsyncIterator[Event]) -> dict[str, Any]:
    """Return the next message of a stream; it is one of the protocol's, and names the stream."""
    message: dict[str, Any] = (await asyncio.wait_for(anext(events), GUARD_SECONDS)).value
    if "method" in message:
        methods.parse_server_notification(message["method"], STATELESS, message["params"])
        assert message["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "listen"}
    return message


@pytest.mark.behaviour("mcp-endpoint.subscriptions")
async def test_a_new_entry_a_reset_and_a_deletion_are_changes(wired: Wired, ada: Session) -> None:
    """Each is told once the thread has it; changes before the stream, and of other threads, are not."""
    changes: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
        ("other", lambda: ada.call("hello", "other")),
        ("t", lambda: ada.call("again", "t")),
        ("t", lambda: wired.ours("POST", "Joker/threads/t/reset", {})),
        ("t", lambda: wired.ours("DELETE", "Joker/threads/t")),
    ]
    watched = [f"thread://Joker/{name}" for name in ("t", "other")]
    await ada.call("hello", "t")
    for name, change in changes:
        await wired.host.entities.idle()
        async with ada.listening(*watched) as events:
            begun = await following(events)
            await change()
            told = await following(events)

        assert begun["method"] == "notifications/subscriptions/acknowledged"
        assert begun["params"]["notifications"] == {"resourceSubscriptions": watched}
        assert told["method"] == "notifications/resources/updated"
        assert told["params"]["uri"] == f"thread://Joker/{name}"


@pytest.mark.behaviour("mcp-endpoint.subscriptions")
async def test_what_never_changes_or_is_no_thread_is_left_out(ada: Session) -> None:
    """The client is told which are watched; lists that never change are not."""
    run_id = (await ada.call("hello", "f"))["structuredContent"]["run_id"]
    never = ("thread://Nobody/t", "other://Joker/t", "thread://Joker", f"thread://Joker/f/{run_id}/0", "")
    uris = [*never, "thread://Joker/a b", THREAD]
    async with ada.listening(*uris, toolsListChanged=True, resourcesListChanged=True) as events:
        agreed = (await following(events))["params"]["notifications"]

    assert agreed == {"resourceSubscriptions": [THREAD]}


@pytest.mark.behaviour("mcp-endpoint.subscriptions")
async def test_the_stream_ends_by_its_result_when_the_process_is_about_to_end(wired: Wired, ada: Session) -> None:
    """Also one that watches nothing: its client listens again, at another process."""
    ends = []
    async with ada.listening(THREAD) as events, ada.listening() as empty:
        for stream in (events, empty):
            await following(stream)
        await wired.app._services.holders.drain(0.0)
        ends = [await following(stream) for stream in (events, empty)]

    meta = {"io.modelcontextprotocol/subscriptionId": "listen"}
    assert ends == [{"jsonrpc": "2.0", "id": "listen", "result": {"resultType": "complete", "_meta": meta}}] * 2
