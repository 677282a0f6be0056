"""What every door promises alike: whose a thread is, what is the same run, how a run ends, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from hosting.app import Limit
from tests.hosting.doors.doors import DOORS, PICTURE, WIRES, Door
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import app_of, served

THREADS = "/api/agents/Joker/threads"


def marked(*names: str) -> Any:
    """Return what marks a test with several rules."""

    def mark(test: Any) -> Any:
        for name in names:
            test = pytest.mark.behaviour(name)(test)
        return test

    return mark


async def runs_of(http: httpx.AsyncClient, thread: str, user: str = "") -> list[dict[str, Any]]:
    """Return the runs of a thread, none where it is not there."""
    answer = await http.get(f"{THREADS}/{thread}/runs", headers={"x-user": user} if user else {})
    return list(answer.json()["runs"]) if answer.status_code == 200 else []


async def at_work(http: httpx.AsyncClient, door: Door, thread: str) -> tuple[asyncio.Task[httpx.Response], str]:
    """Begin a run that takes a minute, and return its answer to come and its id once it is there."""
    answer = asyncio.create_task(door.ask(http, "sleep 60", thread=thread))
    async with asyncio.timeout(GUARD_SECONDS):
        while not (runs := await runs_of(http, thread)):  # noqa: ASYNC110
            await asyncio.sleep(0)  # without a socket nothing else lets the run begin
    return answer, str(runs[0]["run_id"])


@marked("ag-ui.same-run", "mcp.continues", "http.remembers-the-thread")
async def test_one_thread_goes_on_through_all_doors(http: httpx.AsyncClient, host: DirectHost) -> None:
    said = [f"by {door.name}" for door in DOORS]
    for door, words in zip(DOORS, said, strict=True):
        await door.says(http, words, thread="all", key=door.name)
    by_tool = await host.call_tool("Joker", {"query": "recall", "threadId": "all"})

    assert by_tool["structuredContent"]["response"] == " | ".join([*said, "recall"])
    for number, door in enumerate(DOORS, 1):
        recalled = await door.says(http, "recall", thread="all", key=f"{door.name}-again")
        assert recalled == " | ".join([*said, *["recall"] * (number + 1)])
    assert len(await runs_of(http, "all")) == 2 * len(DOORS) + 1


@marked("responses.input", "chat.messages", "a2a.parts", "ag-ui.run", "ai-sdk.read")
@pytest.mark.parametrize("door", [door for door in DOORS if door.name != "mcp"], ids=lambda door: door.name)
async def test_a_picture_reaches_the_model(http: httpx.AsyncClient, door: Door) -> None:
    """The arguments of a tool have none."""
    seen = await door.says(http, "see", thread=f"picture-{door.name}", has_picture=True)

    assert seen == f"user text:see data:data:image/png;base64,{PICTURE.partition(',')[2]}"


@marked("responses.create", "chat.create", "a2a.send", "ag-ui.errors", "ai-sdk.run", "mcp-endpoint.tools")
async def test_a_run_that_fails_says_so_without_its_cause(http: httpx.AsyncClient, door: Door) -> None:
    """And the thread goes on without it."""
    thread = f"failed-{door.name}"
    failed = await door.ask(http, "fail", thread=thread)
    after = await door.says(http, "recall", thread=thread, key="after")

    assert door.failed in failed.text
    assert "secret" not in failed.text
    assert after == "recall"


@marked("responses.cancel", "a2a.cancel", "ag-ui.cancel", "ai-sdk.run", "mcp-endpoint.cancel")
async def test_a_run_that_is_cancelled_over_http_ends_there(http: httpx.AsyncClient, door: Door) -> None:
    thread = f"cancelled-{door.name}"
    answer, run_id = await at_work(http, door, thread)
    await http.post(f"{THREADS}/{thread}/runs/{run_id}/cancel")
    ended = await asyncio.wait_for(answer, GUARD_SECONDS)

    assert door.cancelled in ended.text


@marked("responses.deleted", "a2a.deleted", "ag-ui.errors")
async def test_a_run_whose_thread_is_deleted_ends_there(http: httpx.AsyncClient, door: Door) -> None:
    thread = f"deleted-{door.name}"
    answer, run_id = await at_work(http, door, thread)
    await http.delete(f"{THREADS}/{thread}")
    ended = await asyncio.wait_for(answer, GUARD_SECONDS)

    assert f"Run '{run_id}' was deleted with its thread." in ended.text


@marked("responses.create", "chat.create", "a2a.send", "ag-ui.again", "ai-sdk.run", "mcp-endpoint.once")
async def test_the_same_request_again_is_the_same_run(http: httpx.AsyncClient, door: Door) -> None:
    """And something else under its name is refused."""
    thread = f"again-{door.name}"
    first, again = [await door.says(http, "count", thread=thread) for _ in range(2)]
    other = await door.ask(http, "other", thread=thread)

    assert first == again == "1"
    assert door.refusal(other) == (200 if door.errors_of_runs_are_200 else 409, "idempotency_key_reused")
    assert len(await runs_of(http, thread)) == 1


@marked("responses.owners", "chat.owners", "a2a.owners", "ag-ui.owners", "ai-sdk.owners", "mcp-endpoint.owners")
@marked("owners.by-construction", "owners.who")
async def test_a_thread_and_the_name_of_a_request_are_each_callers_own(owned: httpx.AsyncClient, door: Door) -> None:
    """And who is not signed in is refused."""
    thread = f"owned-{door.name}"
    secret = await door.says(owned, "my secret", "ada", thread=thread)
    adas, bobs = [await door.says(owned, "recall", user, thread=thread, key="2") for user in ("ada", "bob")]
    same_key = await door.says(owned, "say mine", "bob", thread=thread)
    nobody = await door.ask(owned, "recall", thread=thread)

    assert (secret, adas, bobs, same_key) == ("echo: my secret", "my secret | recall", "recall", "mine")
    assert [len(await runs_of(owned, thread, user)) for user in ("ada", "bob")] == [2, 2]
    assert door.refusal(nobody) == (401, "unauthorized")
    assert nobody.headers["www-authenticate"] == "Bearer"


@marked("responses.owners", "a2a.owners", "ag-ui.owners", "ai-sdk.owners")
async def test_a_form_of_another_site_begins_no_run(http: httpx.AsyncClient, host: DirectHost, door: Door) -> None:
    before = {*host.entities.states}
    refused = await door.send(http, b"{}", content_type="text/plain", sec_fetch_site="cross-site")

    assert door.refusal(refused) == (403, "cross_site")
    assert {*host.entities.states} == before


JSON, PNG = "application/json", "image/png"
OF_JSON_RPC = ("a2a", "mcp")


@marked("responses.fuzzed", "ag-ui.fuzzed", "a2a.fuzzed", "mcp-endpoint.fuzzed")
@pytest.mark.parametrize(
    ("sent", "media", "refusal"),
    [
        pytest.param(b"{", JSON, (400, "invalid_json"), id="cut"),
        pytest.param(b"[]", JSON, (400, "invalid_body"), id="array"),
        pytest.param(b"\xff", JSON, (400, "invalid_encoding"), id="no UTF-8"),
        pytest.param(b'{"input": NaN}', JSON, (400, "invalid_json"), id="no number"),
        pytest.param(b'{"input": "a", "input": "b"}', JSON, (400, "invalid_json"), id="twice"),
        pytest.param(b"[" * 5000, JSON, (400, "invalid_json"), id="deep"),
        pytest.param(b"{}", PNG, (415, "unsupported_media_type"), id="a picture"),
        pytest.param(b'"' + b"x" * 1_100_000 + b'"', JSON, (413, "body_too_large"), id="large"),
    ],
)
async def test_a_body_that_is_none_is_refused_alike(
    http: httpx.AsyncClient, door: Door, sent: bytes, media: str, refusal: tuple[int, str]
) -> None:
    """In the door's own form."""
    status, code = refusal
    if (door.name in OF_JSON_RPC, code) == (True, "invalid_body"):
        code = "invalid_request"
    answer = await door.send(http, sent, content_type=media)

    assert door.refusal(answer) == (200 if door.errors_of_bodies_are_200 else status, code)


@marked("chat.refused", "ag-ui.refused", "ai-sdk.refused", "a2a.refused", "mcp-endpoint.refused", "responses.refused")
@pytest.mark.parametrize("thread", ["a/b", "..", "a.", "a b", "ä", "a@b", "%2e", "0" * 65])
async def test_a_thread_that_no_store_can_name_is_refused(
    http: httpx.AsyncClient, host: DirectHost, door: Door, thread: str
) -> None:
    """Before anything is stored. Responses knows its own ids alone, so to it there is none like that."""
    before = {*host.entities.states}
    status, code = door.refusal(await door.ask(http, "hello", thread=thread))

    assert code == ("unknown_thread" if door.name == "responses" else "invalid_thread_id")
    assert status == 200 if door.errors_of_runs_are_200 else status in (400, 404)
    assert {*host.entities.states} == before


@marked("http.limit-wires", "http.limit-standing")
async def test_what_was_taken_by_one_door_counts_at_all() -> None:
    """Each refuses in its own form, and says how the limit stands: in its headers, but for tools."""
    app = app_of(scripted_agent("Joker"), wires=WIRES, enable_mcp_tool_trigger=True, limit=Limit(requests_per_minute=1))
    async with served(app) as (host, http):
        taken = await DOORS[0].ask(http, "hello")
        refused = [(door, await door.ask(http, "hello", key="other")) for door in DOORS]
        tool = await host.call_tool("Joker", {"query": "hello"})

    assert taken.headers["ratelimit"].startswith('"requests";r=0;t=')
    for door, answer in refused:
        assert door.refusal(answer)[1] == "limit_exceeded"
        if door.name != "mcp":
            assert answer.status_code == (200 if door.errors_of_runs_are_200 else 429)
            assert answer.headers["ratelimit"] == f'"requests";r=0;t={answer.headers["retry-after"]}'
    assert (tool["isError"], tool["structuredContent"]) == (True, {"code": "limit_exceeded"})
