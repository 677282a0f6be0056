"""The arguments of a thread's address, completed: agents, and threads of the caller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp_types import methods

from tests.support.mcp_wire import STATELESS, Session, Wired, signed_in

pytestmark = pytest.mark.behaviour("mcp-endpoint.completion")

THREAD = "thread://{agent}/{thread_id}"
FILE = f"{THREAD}/{{run_id}}/{{number}}"


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """An app whose callers have threads of their own."""
    wired = Wired(principal=signed_in)
    async with wired.http:
        yield wired


@pytest.fixture
async def ada(wired: Wired) -> Session:
    """A client of Ada with threads of both agents, and one of Bob."""
    session = Session(wired.http, STATELESS)
    for thread, tool in (("trip-1", "Joker"), ("trip-2", "Joker"), ("diary", "Joker"), ("trip-3", "Clerk")):
        await session.call("hello" if tool == "Joker" else "call look 1", thread, tool=tool)
    bob = Session(wired.http, STATELESS)
    bob.headers["x-user"] = "bob"
    await bob.call("hello", "trip-of-bob")
    return session


async def completed(session: Session, name: str, value: str, uri: str = THREAD, **arguments: str) -> dict[str, Any]:
    """Return a completion; it is one of its version by the official models."""
    context = {"context": {"arguments": arguments}} if arguments else {}
    params = {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}, **context}
    result = await session.result("completion/complete", **params)
    methods.validate_server_result("completion/complete", session.version, result)
    completion: dict[str, Any] = result["completion"]
    return completion


@pytest.mark.parametrize("uri", [THREAD, FILE])
async def test_agents_and_the_callers_own_threads_are_offered(wired: Wired, ada: Session, uri: str) -> None:
    """By what the caller has typed; a thread's agent is known by then."""
    agents = [await completed(ada, "agent", value, uri) for value in ("", "jo", "x")]
    threads = await completed(ada, "thread_id", "trip", uri, agent="joker")
    without = await completed(ada, "thread_id", "trip", uri)
    number = await completed(ada, "number", "", uri, agent="Joker")

    assert [each["values"] for each in agents] == [["Joker", "Clerk"], ["Joker"], []]
    assert (sorted(threads["values"]), threads["total"], threads["hasMore"]) == (["trip-1", "trip-2"], 2, False)
    assert without["values"] == number["values"] == []


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "params.ref"),
        ({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}, "params.ref"),
        ({"ref": {"type": "ref/resource", "uri": "test://x"}, "argument": {"name": "a", "value": ""}}, "params.ref"),
        ({"ref": {"type": "ref/resource", "uri": [THREAD]}, "argument": {"name": "a", "value": ""}}, "params.ref"),
        ({"ref": {"type": "ref/resource", "uri": THREAD}}, "params.argument.name"),
        ({"ref": {"type": "ref/resource", "uri": THREAD}, "argument": {"name": "a", "value": 5}}, "argument.value"),
        (
            {
                "ref": {"type": "ref/resource", "uri": THREAD},
                "argument": {"name": "thread_id", "value": ""},
                "context": {"arguments": {"agent": 5}},
            },
            "params.context.arguments.agent",
        ),
    ],
)
async def test_what_is_no_argument_of_an_address_is_refused_by_name(
    wired: Wired, params: dict[str, Any], says: str
) -> None:
    """With the templates that there are."""
    code, sentence = await Session(wired.http, STATELESS).refused("completion/complete", **params)

    assert code == -32602
    assert says in sentence
