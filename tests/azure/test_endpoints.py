"""The HTTP contract, streams and the MCP endpoint at a running host, whatever its agents are and say."""

import asyncio

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.azure.target import Target
from tests.support.event_stream import Frame, frames, words

FINISHED_SECONDS = 120.0


async def run(client: httpx.AsyncClient, agent: str, **fields: object) -> httpx.Response:
    return await client.post(f"/api/agents/{agent}/run", json={"message": "Say hello.", **fields})


async def finished(client: httpx.AsyncClient, url: str) -> httpx.Response:
    """The first answer of a run's address that is not 202; asked again when the app says so, which is its contract."""
    answer = await client.get(url)
    if answer.status_code != 202:
        return answer
    await asyncio.sleep(float(answer.headers["retry-after"]))
    return await finished(client, url)


async def test_it_is_healthy_and_reaches_its_stores(target: Target) -> None:
    async with httpx.AsyncClient(base_url=target.url, timeout=60) as anonymous:
        health, ready = await anonymous.get("/api/health"), await anonymous.get("/api/health/ready")

    assert (health.status_code, health.json()) == (200, {"status": "healthy"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


async def test_nobody_gets_in_without_the_key(target: Target, agent: str) -> None:
    if not target.key:
        pytest.skip("no key given: the host may ask for none")
    async with httpx.AsyncClient(base_url=target.url, timeout=60) as anonymous:
        statuses = [
            (await anonymous.post(f"/api/agents/{agent}/run", json={"message": "hi"})).status_code,
            (await anonymous.get("/api/agents")).status_code,
        ]

    assert statuses == [401, 401]


async def test_a_turn_is_answered_with_its_ids(client: httpx.AsyncClient, agent: str, thread: str) -> None:
    answer = await run(client, agent, thread_id=thread)
    body = answer.json()

    assert (answer.status_code, body["status"], body["thread_id"]) == (200, "success", thread)
    assert body["response"]
    assert answer.headers["x-ms-thread-id"] == thread
    assert answer.headers["x-ms-run-id"] == body["run_id"]


async def test_a_run_that_is_not_waited_for_is_found_where_the_answer_says(
    client: httpx.AsyncClient, agent: str, thread: str
) -> None:
    """Location leads there from outside: through whatever stands between."""
    accepted = await run(client, agent, thread_id=thread, wait_for_response=False)
    answer = await asyncio.wait_for(finished(client, accepted.headers["location"]), FINISHED_SECONDS)

    assert accepted.status_code == 202
    assert (answer.status_code, answer.json()["run_id"]) == (200, accepted.json()["run_id"])


async def test_a_request_sent_twice_is_one_run(client: httpx.AsyncClient, agent: str, thread: str) -> None:
    url, key = f"/api/agents/{agent}/run", {"idempotency-key": thread}
    bodies = ({"message": "once", "thread_id": thread}, {"message": "other", "thread_id": thread})
    first, again, other = [await client.post(url, json=body, headers=key) for body in (bodies[0], bodies[0], bodies[1])]

    assert again.json()["run_id"] == first.json()["run_id"]
    assert again.headers["idempotency-replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("path", "body", "refusal"),
    [
        ("nobody/run", {"message": "hi"}, (404, "unknown_agent")),
        ("{agent}/run", {"message": " "}, (400, "missing_message")),
        ("{agent}/run", {"message": "hi", "thread_id": "a/b"}, (400, "invalid_thread_id")),
        ("{agent}/run", {"message": "hi", "threadid": "a"}, (400, "unknown_field")),
    ],
)
async def test_what_is_wrong_is_refused_by_its_code(
    client: httpx.AsyncClient, agent: str, path: str, body: dict[str, str], refusal: tuple[int, str]
) -> None:
    """As a problem (RFC 9457), before a run is started."""
    answer = await client.post(f"/api/agents/{path.format(agent=agent)}", json=body)

    assert (answer.status_code, answer.json()["code"]) == refusal
    assert answer.headers["content-type"].startswith("application/problem+json")


async def test_a_deleted_thread_is_gone(client: httpx.AsyncClient, agent: str, thread: str) -> None:
    run_id = (await run(client, agent, thread_id=thread)).json()["run_id"]
    place = f"/api/agents/{agent}/threads/{thread}"
    deleted = [(await client.delete(place)).status_code for _ in range(2)]

    assert deleted == [204, 204]
    assert (await client.get(place)).status_code == 404
    assert (await client.get(f"{place}/runs/{run_id}")).status_code == 410


STREAM = {"accept": "text/event-stream"}


async def followed(client: httpx.AsyncClient, method: str, url: str, **request: object) -> tuple[list[Frame], str]:
    """Return the events of a stream, to its end, and its address."""
    async with client.stream(method, url, **request) as response:  # type: ignore[arg-type]
        assert (response.status_code, response.headers["content-type"].partition(";")[0]) == (200, STREAM["accept"])
        return [received async for received in frames(response)], str(response.headers["content-location"])


async def test_a_stream_is_the_answer_in_pieces(client: httpx.AsyncClient, agent: str, thread: str) -> None:
    """From the request to the end, which holds what the pieces make."""
    body = {"message": "Say hello.", "thread_id": thread}
    received, _ = await followed(client, "POST", f"/api/agents/{agent}/run", json=body, headers=STREAM)

    assert (received[0].event, received[-1].event) == ("accepted", "completed")
    assert words(received) == received[-1].fields["response"]


async def test_a_stream_goes_on_behind_the_last_event_that_came(
    client: httpx.AsyncClient, agent: str, thread: str
) -> None:
    """At the address that the first answer gave; behind the last one there is nothing more."""
    body = {"message": "Say hello.", "thread_id": thread}
    received, address = await followed(client, "POST", f"/api/agents/{agent}/run", json=body, headers=STREAM)
    rest, _ = await followed(client, "GET", address, headers={**STREAM, "last-event-id": str(received[1].id)})
    after = await client.get(address, headers={**STREAM, "last-event-id": str(received[-1].id)})

    assert [frame for frame in rest if frame.event != "delta"] == [
        frame for frame in received[2:] if frame.event != "delta"
    ]
    assert words([*received[:2], *rest]) == words(received)
    assert after.status_code == 204


PATH = "/runtime/webhooks/mcp"


@pytest.fixture
async def tool(client: httpx.AsyncClient) -> str:
    """The tool of the first agent that has one."""
    agents = (await client.get("/api/agents")).json()["agents"]
    tools = [agent["mcp_tool"] for agent in agents if agent["mcp_tool"]]
    if not tools:
        pytest.skip("no agent of this app is an MCP tool")
    return str(tools[0])


async def test_an_agent_is_called_as_a_tool_and_its_thread_goes_on(target: Target, tool: str) -> None:
    async with (
        httpx.AsyncClient(headers=target.mcp_headers, timeout=120) as mcp_client,
        streamable_http_client(target.url + PATH, http_client=mcp_client) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        listed = [found.name for found in (await session.list_tools()).tools]
        first = await session.call_tool(tool, {"query": "Say hello."})
        place = first.structured_content or {}
        second = await session.call_tool(tool, {"query": "Say it again.", "threadId": place["thread_id"]})

    assert tool in listed
    assert not first.is_error
    assert (second.structured_content or {})["thread_id"] == place["thread_id"]


async def test_the_endpoint_asks_for_its_own_key(target: Target) -> None:
    if not target.mcp_key:
        pytest.skip("no key of the MCP endpoint given (--mcp-key)")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx.AsyncClient(base_url=target.url, timeout=60) as anonymous:
        answers = [await anonymous.post(PATH, json=ping, headers=headers) for headers in ({}, target.headers)]

    assert [answer.status_code for answer in answers] == [401, 403]
