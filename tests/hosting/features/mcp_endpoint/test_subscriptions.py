"""A client that keeps what it has read of threads is told when they change, while its stream is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp_types import methods

from tests.support.carriers import GUARD_SECONDS
from tests.support.mcp_wire import STATELESS, Event, Session, Wired, signed_in

pytestmark = pytest.mark.behaviour("mcp-endpoint.subscriptions")

THREAD = "thread://Joker/t"


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """An app whose callers have threads of their own."""
    wired = Wired(principal=signed_in)
    async with wired.http:
        yield wired


@pytest.fixture
def ada(wired: Wired) -> Session:
    """A client of the version that has such streams."""
    return Session(wired.http, STATELESS)


async def following(events: AsyncIterator[Event]) -> dict[str, Any]:
    """Return the next message of a stream; it is one of the protocol's, and names the stream."""
    message: dict[str, Any] = (await asyncio.wait_for(anext(events), GUARD_SECONDS)).value
    if "method" in message:
        methods.parse_server_notification(message["method"], STATELESS, message["params"])
        assert message["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "listen"}
    return message


async def changes(events: AsyncIterator[Event], ada: Session, until: str) -> set[str]:
    """Change the thread of that id, and return the addresses that were told before it."""
    await ada.call("hello", until)
    told: set[str] = set()
    while (message := await following(events))["params"]["uri"] != f"thread://Joker/{until}":
        assert message["method"] == "notifications/resources/updated"
        told.add(message["params"]["uri"])
    return told


async def test_a_new_entry_a_reset_and_a_deletion_are_changes(wired: Wired, ada: Session) -> None:
    """Each is told once the thread has it; changes before the stream are not."""
    url = "http://app.example/api/agents/Joker/threads/t"
    await ada.call("hello", "t")
    last = [f"thread://Joker/last-{number}" for number in range(5)]
    async with ada.listening(THREAD, *last) as events:
        begun = await following(events)
        told = [await changes(events, ada, "last-0")]
        await ada.call("again", "t")
        told.append(await changes(events, ada, "last-1"))
        await wired.http.post(f"{url}/reset", json={})
        told.append(await changes(events, ada, "last-2"))
        await wired.http.delete(url)
        told.append(await changes(events, ada, "last-3"))
        told.append(await changes(events, ada, "last-4"))

    assert begun["method"] == "notifications/subscriptions/acknowledged"
    assert begun["params"]["notifications"] == {"resourceSubscriptions": [THREAD, *last]}
    assert [THREAD in each for each in told] == [False, True, True, True, False]


async def test_several_threads_are_told_apart(ada: Session) -> None:
    """By the addresses that the client sent."""
    other = "thread://clerk/u"
    async with ada.listening(THREAD, other) as events:
        agreed = (await following(events))["params"]["notifications"]
        await ada.call("call look 1", "u", tool="Clerk")
        told = await changes(events, ada, "t")

    assert agreed == {"resourceSubscriptions": [THREAD, other]}
    assert told == {other}


async def test_another_owners_thread_of_that_name_is_another_thread(ada: Session, wired: Wired) -> None:
    """Whoever listens hears of threads of their own alone."""
    bob = Session(wired.http, STATELESS)
    bob.headers["x-user"] = "bob"
    async with ada.listening(THREAD, "thread://Joker/last") as events:
        await following(events)
        await bob.call("hello", "t")
        told = await changes(events, ada, "last")

    assert told == set()


async def test_what_never_changes_or_is_no_thread_is_left_out(ada: Session) -> None:
    """The client is told which are watched; lists that never change are not."""
    run_id = (await ada.call("hello", "f"))["structuredContent"]["run_id"]
    never = ("thread://Nobody/t", "other://Joker/t", "thread://Joker", f"thread://Joker/f/{run_id}/0", "")
    uris = [*never, "thread://Joker/a b", THREAD]
    async with ada.listening(*uris, toolsListChanged=True, resourcesListChanged=True) as events:
        agreed = (await following(events))["params"]["notifications"]

    assert agreed == {"resourceSubscriptions": [THREAD]}


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


@pytest.mark.parametrize("uris", [5, [5]])
async def test_what_is_no_list_of_addresses_is_refused(ada: Session, uris: Any) -> None:
    """By name."""
    code, sentence = await ada.refused("subscriptions/listen", notifications={"resourceSubscriptions": uris})

    assert code == -32602
    assert "resourceSubscriptions" in sentence


async def test_one_stream_watches_so_many_threads(ada: Session) -> None:
    """Each costs reads of the log."""
    uris = [f"thread://Joker/t-{number}" for number in range(21)]
    code, sentence = await ada.refused("subscriptions/listen", notifications={"resourceSubscriptions": uris})

    assert (code, "at most 20 threads" in sentence) == (-32602, True)


async def test_versions_with_a_handshake_have_no_such_stream(wired: Wired) -> None:
    """Nor the request that they have for it."""
    session = Session(wired.http)
    capabilities = (await session.begin())["capabilities"]
    codes = [(await session.refused(method))[0] for method in ("subscriptions/listen", "resources/subscribe")]

    assert (capabilities["resources"], codes) == ({}, [-32601, -32601])
