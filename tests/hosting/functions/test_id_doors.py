"""One id alphabet at every door: HTTP, MCP and entities take the same names of threads, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

import httpx
import pytest

from tests.support.carriers import ENTITY, Api
from tests.support.direct import DirectHost

pytestmark = pytest.mark.behaviour("http.one-alphabet")

RUN = "/api/agents/Joker/run"
GOOD = ["a", "A-b_c..d~e", ".hidden", "0" * 64, "null"]
BAD = [
    *("a.", "..", "a" * 65, "a/b", "a\\b", "a b", "@dafx-joker@a", "a%2e", "a?b", "a#b", "a:b", "a'b", "a,b", "<a>"),
    *("é", "ａ", "٣", "a\x01b", "a\nb", "a\n", "a\x00b"),
]
"""The last are letters and a digit that only look like ones of the alphabet, control characters and line ends."""


async def test_no_request_names_a_thread_outside_the_alphabet(direct: Api) -> None:
    """In the body, the query or a header, by any spelling: 400, and nothing is stored."""
    before = await direct.stored()
    asked: list[dict[str, object]] = []
    for value in BAD:
        for name in ("thread_id", "session_id", "sessionId"):
            asked += [{"json": {"message": "hi", name: value}}, {"json": {"message": "hi"}, "params": {name: value}}]
        if value.isprintable():
            names = ("x-ms-thread-id", "x-ms-session-id")
            asked += [{"json": {"message": "hi"}, "headers": {name: value.encode()}} for name in names]

    for request in asked:
        answer = await direct.http.post(RUN, **request)  # type: ignore[arg-type]
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_thread_id"), request
    assert await direct.stored() == before


@pytest.mark.parametrize("rest", ["", "/messages", "/runs", "/export", "/runs/r"])
async def test_no_path_names_a_thread_outside_the_alphabet(api: Api, rest: str) -> None:
    """404, whatever the web server makes of it before us. `threads/..` leads to the agent."""
    for value in BAD:
        answer = await api.http.get(f"/api/agents/Joker/threads/{quote(value, safe='')}{rest}")
        is_of_the_agent = answer.is_success and answer.json().get("kind") == "agent"
        assert answer.status_code in (400, 404) or is_of_the_agent, (value, answer.text)


async def test_no_tool_call_or_carried_request_names_a_thread_or_a_run_outside_the_alphabet(
    direct_host: DirectHost,
) -> None:
    """A tool's error has the same code; the entity refuses what an orchestration calls, and keeps nothing."""
    for value in BAD:
        for argument in ("threadId", "sessionId"):
            tool = await direct_host.call_tool("Joker", {"query": "hi", argument: value})
            assert tool["structuredContent"]["code"] == "invalid_thread_id", value
        for key, run_id in ((value, f"c-{id(value)}"), ("carried", value)):
            order = {"message": "hi", "correlationId": run_id}
            result = await direct_host.entities.call(ENTITY, key, "run", order)
            assert (result["isError"], "is not valid" in result["result"]) == (True, True), value
        assert f"@{ENTITY}@{value}" not in direct_host.entities.states


@pytest.mark.parametrize("value", GOOD)
async def test_every_id_of_the_alphabet_is_taken_at_every_door(
    direct: Api, direct_host: DirectHost, value: str
) -> None:
    doors: list[Callable[[], Awaitable[httpx.Response]]] = [
        lambda: direct.http.post(RUN, json={"message": "hi", "sessionId": value}),
        lambda: direct.http.post(RUN, params={"thread_id": value}, json={"message": "hi"}),
        lambda: direct.http.post(RUN, headers={"x-ms-session-id": value}, json={"message": "hi"}),
    ]
    await direct.http.delete(f"/api/agents/Joker/threads/{value}")

    counts = [(await door()).json()["message_count"] for door in doors]
    tool = await direct_host.call_tool("Joker", {"query": "count", "threadId": value})
    carried = {"message": "count", "correlationId": f"carried-{len(value)}-{value[:40].strip('.')}"}
    await direct_host.entities.call(ENTITY, value, "run", carried)

    assert (counts, tool["structuredContent"]["response"]) == ([2, 4, 6], "7")
    assert (await direct.http.get(f"/api/agents/Joker/threads/{value}")).json()["message_count"] == 10
