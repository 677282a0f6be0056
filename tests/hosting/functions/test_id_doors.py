"""One id alphabet at every door: HTTP, MCP and entities take the same names of threads, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

import httpx
import pytest

from tests.support.carriers import ENTITY, Api
from tests.support.direct import DirectHost

RUN = "/api/agents/Joker/run"
GOOD = ["a", "A-b_c.d~e", ".hidden", "a..b", "0" * 64, "-", "~", "null", "None", "con"]
BAD = {
    "a dot at the end": "a.",
    "dots": "..",
    "65 characters": "a" * 65,
    "a slash": "a/b",
    "a backslash": "a\\b",
    "a blank inside": "a b",
    "an at sign": "@dafx-joker@a",
    "a percent sign": "a%2e",
    "a question mark": "a?b",
    "a number sign": "a#b",
    "a colon": "a:b",
    "a quote": "a'b",
    "a comma": "a,b",
    "markup": "<a>",
    "a letter with an accent": "é",
    "a full-width letter": "ａ",
    "a digit of another script": "٣",
    "a control character": "a\x01b",
    "a line end": "a\nb",
    "a line end behind": "a\n",
    "a zero": "a\x00b",
}
IN_HEADERS = [name for name, value in BAD.items() if value.isprintable()]


@pytest.mark.behaviour("http.one-alphabet")
@pytest.mark.parametrize("name", ["thread_id", "session_id", "sessionId"])
@pytest.mark.parametrize("value", BAD.values(), ids=list(BAD))
async def test_no_body_or_query_names_a_thread_outside_the_alphabet(direct: Api, name: str, value: str) -> None:
    """400 for each spelling, and nothing is stored."""
    before = await direct.stored()

    answers = [
        await direct.http.post(RUN, json={"message": "hi", name: value}),
        await direct.http.post(RUN, params={name: value}, json={"message": "hi"}),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(400, "invalid_thread_id")] * 2
    assert await direct.stored() == before


@pytest.mark.behaviour("http.one-alphabet")
@pytest.mark.parametrize("name", ["x-ms-thread-id", "x-ms-session-id"])
@pytest.mark.parametrize("kind", IN_HEADERS)
async def test_no_header_names_a_thread_outside_the_alphabet(direct: Api, name: str, kind: str) -> None:
    """Bytes that a header may carry."""
    answer = await direct.http.post(RUN, json={"message": "hi"}, headers={name: BAD[kind].encode()})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_thread_id")


@pytest.mark.behaviour("http.one-alphabet")
@pytest.mark.parametrize("rest", ["", "/messages", "/runs", "/export", "/runs/r"])
@pytest.mark.parametrize("value", BAD.values(), ids=list(BAD))
async def test_no_path_names_a_thread_outside_the_alphabet(api: Api, value: str, rest: str) -> None:
    """404, whatever the web server makes of it before us."""
    answer = await api.http.get(f"/api/agents/Joker/threads/{quote(value, safe='')}{rest}")

    is_of_the_agent = answer.is_success and answer.json().get("kind") == "agent"  # `threads/..` leads to the agent
    assert answer.status_code in (400, 404) or is_of_the_agent, answer.text


@pytest.mark.behaviour("http.one-alphabet")
@pytest.mark.parametrize("value", BAD.values(), ids=list(BAD))
async def test_no_tool_call_names_a_thread_outside_the_alphabet(direct_host: DirectHost, value: str) -> None:
    """A tool error with the same code."""
    results = [
        await direct_host.call_tool("Joker", {"query": "hi", argument: value}) for argument in ("threadId", "sessionId")
    ]

    assert [result["structuredContent"]["code"] for result in results] == ["invalid_thread_id"] * 2


@pytest.mark.behaviour("http.one-alphabet")
@pytest.mark.parametrize("value", BAD.values(), ids=list(BAD))
async def test_no_carried_request_begins_a_thread_outside_the_alphabet(direct_host: DirectHost, value: str) -> None:
    """What an orchestration calls by such a name is refused by the entity; it keeps nothing."""
    result = await direct_host.entities.call(ENTITY, value, "run", {"message": "hi", "correlationId": f"c-{id(value)}"})

    assert (result["isError"], "is not valid" in result["result"]) == (True, True)
    assert f"@{ENTITY}@{value}" not in direct_host.entities.states


@pytest.mark.behaviour("http.one-alphabet")
@pytest.mark.parametrize("value", BAD.values(), ids=list(BAD))
async def test_no_carried_request_brings_a_run_id_outside_the_alphabet(direct_host: DirectHost, value: str) -> None:
    """Run ids are held to the same one."""
    result = await direct_host.entities.call(ENTITY, "carried", "run", {"message": "hi", "correlationId": value})

    assert (result["isError"], "is not valid" in result["result"]) == (True, True)


@pytest.mark.behaviour("http.one-alphabet")
@pytest.mark.parametrize("value", GOOD)
async def test_every_id_of_the_alphabet_is_taken_at_every_door(
    direct: Api, direct_host: DirectHost, value: str
) -> None:
    """And it is the same thread at each of them."""
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
