"""What every door promises alike: whose a thread is, what is the same run, how a run ends, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from hosting.app import Limit
from hosting.assembly import WIRES
from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.cluster.cluster import Cluster
from tests.support.direct import DirectHost
from tests.support.doors import DOORS, PICTURE, Asked, Door
from tests.support.joining import both, steered
from tests.support.made_app import app_of, served, triggers

THREADS = "/api/agents/Joker/threads"


WIRED = {
    "responses": ("http_responses", "openai/{*path}"),
    "chat-completions": ("http_chat_completions", "chat/{*path}"),
    "ag-ui": ("http_ag_ui", "ag-ui/{*path}"),
    "ai-sdk": ("http_ai_sdk", "ai-sdk/{*path}"),
    "a2a": ("http_a2a", "a2a/{*path}"),
    "mcp": ("http_mcp", "mcp/{*path}"),
}


@pytest.mark.behaviour("responses.named")
@pytest.mark.behaviour("ag-ui.named")
@pytest.mark.behaviour("a2a.named")
@pytest.mark.parametrize("wire", WIRES)
def test_a_wire_is_one_function_and_is_off_unless_it_is_named(wire: str) -> None:
    name, route = WIRED[wire]
    others = triggers(app_of(scripted_agent("Joker"), wires=[other for other in WIRES if other != wire]))
    named = triggers(app_of(scripted_agent("Joker"), wires=[wire]))

    assert name not in others
    assert (named[name]["route"], named[name]["authLevel"]) == (route, "FUNCTION")


@pytest.mark.behaviour("responses.named")
@pytest.mark.parametrize(
    ("wires", "sentence"),
    [
        (["response"], "There is no wire 'response'. Did you mean 'responses'?"),
        (["xyz"], f"There is no wire 'xyz'. Wires: {', '.join(map(repr, WIRES))}."),
        ("responses", "wires is the text 'responses'. Give a list of names, such as wires=['responses']."),
    ],
)
def test_a_name_that_is_no_wire_is_refused_at_start_up(wires: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_of(scripted_agent("Joker"), wires=wires)

    assert refused.value.detail == sentence


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


@pytest.mark.behaviour("ag-ui.same-run")
@pytest.mark.behaviour("mcp.continues")
@pytest.mark.behaviour("http.remembers-the-thread")
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


@pytest.mark.behaviour("responses.input")
@pytest.mark.behaviour("chat.messages")
@pytest.mark.behaviour("a2a.parts")
@pytest.mark.behaviour("ag-ui.run")
@pytest.mark.behaviour("ai-sdk.read")
@pytest.mark.parametrize("door", [door for door in DOORS if door.name != "mcp"], ids=lambda door: door.name)
async def test_a_picture_reaches_the_model(http: httpx.AsyncClient, door: Door) -> None:
    seen = await door.says(http, "see", thread=f"picture-{door.name}", has_picture=True)

    assert seen == f"user text:see data:data:image/png;base64,{PICTURE.partition(',')[2]}"


@pytest.mark.behaviour("responses.create")
@pytest.mark.behaviour("chat.create")
@pytest.mark.behaviour("a2a.send")
@pytest.mark.behaviour("ag-ui.errors")
@pytest.mark.behaviour("ai-sdk.run")
@pytest.mark.behaviour("mcp-endpoint.tools")
async def test_a_run_that_fails_says_so_without_its_cause(http: httpx.AsyncClient, door: Door) -> None:
    """And the thread goes on without it."""
    thread = f"failed-{door.name}"
    failed = await door.ask(http, "fail", thread=thread)
    after = await door.says(http, "recall", thread=thread, key="after")

    assert door.failed in failed.text
    assert "secret" not in failed.text
    assert after == "recall"


@pytest.mark.behaviour("responses.cancel")
@pytest.mark.behaviour("a2a.cancel")
@pytest.mark.behaviour("ag-ui.cancel")
@pytest.mark.behaviour("ai-sdk.run")
@pytest.mark.behaviour("mcp-endpoint.cancel")
async def test_a_run_that_is_cancelled_over_http_ends_there(http: httpx.AsyncClient, door: Door) -> None:
    thread = f"cancelled-{door.name}"
    answer, run_id = await at_work(http, door, thread)
    await http.post(f"{THREADS}/{thread}/runs/{run_id}/cancel")
    ended = await asyncio.wait_for(answer, GUARD_SECONDS)

    assert door.cancelled in ended.text


@pytest.mark.behaviour("responses.deleted")
@pytest.mark.behaviour("a2a.deleted")
@pytest.mark.behaviour("ag-ui.errors")
async def test_a_run_whose_thread_is_deleted_ends_there(http: httpx.AsyncClient, door: Door) -> None:
    thread = f"deleted-{door.name}"
    answer, run_id = await at_work(http, door, thread)
    await http.delete(f"{THREADS}/{thread}")
    ended = await asyncio.wait_for(answer, GUARD_SECONDS)

    assert f"Run '{run_id}' was deleted with its thread." in ended.text


@pytest.mark.behaviour("responses.create")
@pytest.mark.behaviour("chat.create")
@pytest.mark.behaviour("a2a.send")
@pytest.mark.behaviour("ag-ui.again")
@pytest.mark.behaviour("ai-sdk.run")
@pytest.mark.behaviour("mcp-endpoint.once")
async def test_the_same_request_again_is_the_same_run(http: httpx.AsyncClient, door: Door) -> None:
    """And something else under its name is refused."""
    thread = f"again-{door.name}"
    first, again = [await door.says(http, "count", thread=thread) for _ in range(2)]
    other = await door.ask(http, "other", thread=thread)

    assert first == again == "1"
    assert door.refusal(other) == (200 if door.errors_of_runs_are_200 else 409, "idempotency_key_reused")
    assert len(await runs_of(http, thread)) == 1


@pytest.mark.behaviour("responses.owners")
@pytest.mark.behaviour("chat.owners")
@pytest.mark.behaviour("a2a.owners")
@pytest.mark.behaviour("ag-ui.owners")
@pytest.mark.behaviour("ai-sdk.owners")
@pytest.mark.behaviour("mcp-endpoint.owners")
@pytest.mark.behaviour("owners.by-construction")
@pytest.mark.behaviour("owners.who")
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


@pytest.mark.behaviour("responses.owners")
@pytest.mark.behaviour("a2a.owners")
@pytest.mark.behaviour("ag-ui.owners")
@pytest.mark.behaviour("ai-sdk.owners")
async def test_a_form_of_another_site_begins_no_run(http: httpx.AsyncClient, host: DirectHost, door: Door) -> None:
    before = {*host.entities.states}
    refused = await door.send(http, b"{}", content_type="text/plain", sec_fetch_site="cross-site")

    assert door.refusal(refused) == (403, "cross_site")
    assert {*host.entities.states} == before


@pytest.mark.behaviour("chat.steering")
@pytest.mark.behaviour("ai-sdk.steering")
@pytest.mark.parametrize("door", [door for door in DOORS if door.name != "ag-ui"], ids=lambda door: door.name)
async def test_a_message_that_joins_a_run_gets_the_answer_of_that_run(door: Door) -> None:
    """A page of AG-UI is told instead that its message has joined."""
    async with steered([*WIRES]) as (http, working):
        first, second = await both(http, working, door.ask(http, "first", key="1"), door.ask(http, "and this", key="2"))

    assert '"user: and this"' in door.text(first)
    assert door.text(second) == door.text(first)


JSON, PNG = "application/json", "image/png"
OF_JSON_RPC = ("a2a", "mcp")


@pytest.mark.behaviour("responses.fuzzed")
@pytest.mark.behaviour("ag-ui.fuzzed")
@pytest.mark.behaviour("a2a.fuzzed")
@pytest.mark.behaviour("mcp-endpoint.fuzzed")
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
    status, code = refusal
    if (door.name in OF_JSON_RPC, code) == (True, "invalid_body"):
        code = "invalid_request"
    answer = await door.send(http, sent, content_type=media)

    assert door.refusal(answer) == (200 if door.errors_of_bodies_are_200 else status, code)


@pytest.mark.behaviour("chat.refused")
@pytest.mark.behaviour("ag-ui.refused")
@pytest.mark.behaviour("ai-sdk.refused")
@pytest.mark.behaviour("a2a.refused")
@pytest.mark.behaviour("mcp-endpoint.refused")
@pytest.mark.behaviour("responses.refused")
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


@pytest.mark.behaviour("http.limit-wires")
@pytest.mark.behaviour("http.limit-standing")
async def test_what_was_taken_by_one_door_counts_at_all() -> None:
    """Each refuses in its own form, and its headers say how the limit stands; a tool's function has none."""
    app = app_of(
        scripted_agent("Joker"), wires=[*WIRES], enable_mcp_tool_trigger=True, limit=Limit(requests_per_minute=1)
    )
    async with served(app) as (host, http):
        taken = await DOORS[0].ask(http, "hello")
        refused = [(door, await door.ask(http, "hello", key="other")) for door in DOORS]
        tool = await host.call_tool("Joker", {"query": "hello"})

    assert taken.headers["ratelimit"].startswith('"requests";r=0;t=')
    for door, answer in refused:
        assert door.refusal(answer) == (200 if door.errors_of_runs_are_200 else 429, "limit_exceeded")
        assert answer.headers["ratelimit"] == f'"requests";r=0;t={answer.headers["retry-after"]}'
        if door.name == "a2a":
            error, later = answer.json()["error"], {"retryAfterSeconds": answer.headers["retry-after"]}
            assert (error["code"], error["data"][0]["metadata"]) == (-32603, {"code": "limit_exceeded", **later})
    assert (tool["isError"], tool["structuredContent"]) == (True, {"code": "limit_exceeded"})


@pytest.mark.moved_time
@pytest.mark.behaviour("responses.store")
@pytest.mark.behaviour("chat.messages")
@pytest.mark.parametrize(("name", "fields"), [("responses", {"store": False}), ("chat-completions", {})])
async def test_a_thread_that_is_not_to_be_stored_is_deleted_with_its_answer(name: str, fields: dict[str, Any]) -> None:
    """By the request itself: who has the answer waits for nothing more."""
    cluster = Cluster(wires=[*WIRES])
    (door,) = [door for door in DOORS if door.name == name]
    sent = {**door.body(Asked("hello", agent="Echo")), **fields}
    sent.pop("conversation" if name == "responses" else "metadata")
    answer = await cluster.process().http.post(f"/api/{door.place}", json=sent)
    operations = [operation for operation, _ in cluster.engine.sent]
    await cluster.close()

    assert (door.text(answer), operations) == ("echo: hello", ["run", "delete"])
