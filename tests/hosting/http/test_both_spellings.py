"""Clients of the next version of `agent-framework-azurefunctions` read our answers: names in camel case beside ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, ask, served

pytestmark = pytest.mark.behaviour("http.both-spellings")

IDS = {"session_id": "t", "sessionId": "t"}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with served(app_of(scripted_agent("Joker"))) as (_, http):
        yield http


def spelled(body: dict[str, Any]) -> dict[str, Any]:
    """Return the members that have two spellings, or are upstream's."""
    names = ("session_id", "correlation_id", "message_count", "code")
    camel = ("sessionId", "correlationId", "messageCount", "errorCode")
    return {name: body[name] for name in (*names, *camel) if name in body}


async def test_answers_runs_and_refusals_have_their_ids_and_codes_in_both(http: httpx.AsyncClient) -> None:
    """From the request that waits or does not, by their name for that, and where the run's status is read."""

    def ids_of(body: dict[str, Any]) -> dict[str, str]:
        return {**IDS, "correlation_id": body["run_id"], "correlationId": body["run_id"]}

    async def read(body: dict[str, Any]) -> dict[str, Any]:
        return dict((await http.get(f"/api/agents/Joker/threads/t/runs/{body['run_id']}")).json())

    answer = (await ask(http, "hi", sessionId="t")).json()
    accepted = (await ask(http, "hi", sessionId="t", waitForResponse=False)).json()
    failed = (await ask(http, "fail", sessionId="t")).json()
    refused = (await ask(http, " ")).json()
    state = await read(failed)

    assert spelled(answer) == spelled(await read(answer)) == {**ids_of(answer), "message_count": 2, "messageCount": 2}
    assert spelled(accepted) == ids_of(accepted)
    assert spelled(failed) == {**ids_of(failed), "code": "run_failed", "errorCode": "run_failed"}
    assert (spelled(state), spelled(state["error"])) == (ids_of(failed), spelled(failed))
    assert spelled(refused) == {"code": "missing_message", "errorCode": "missing_message"}


async def test_a_stream_and_a_list_have_our_spelling_alone(http: httpx.AsyncClient) -> None:
    stream = await ask(http, "hi", thread_id="t", stream=True)
    listed = await http.get("/api/agents/Joker/threads/t/runs")

    assert [text for text in (stream.text, listed.text) if "sessionId" in text or "correlationId" in text] == []
    assert '"session_id": "t"' in stream.text


async def test_the_document_has_both(http: httpx.AsyncClient) -> None:
    """In the bodies that have them, and as always sent where the other one is."""
    schemas = (await http.get("/api/openapi.json")).json()["components"]["schemas"]

    found = {
        name: sorted(camel for camel in ("sessionId", "correlationId", "messageCount", "errorCode") if camel in members)
        for name, schema in schemas.items()
        if (members := schema.get("properties", {})) and {"sessionId", "errorCode"} & members.keys()
    }
    ids = ["correlationId", "sessionId"]
    assert found == {
        "CompletedRun": [*ids[:1], "messageCount", *ids[1:]],
        "EndedRun": ids,
        "JoinedRun": ids,
        "PendingRun": ids,
        "Problem": ["correlationId", "errorCode", "sessionId"],
    }
    assert {"sessionId", "correlationId", "messageCount"} <= set(schemas["CompletedRun"]["required"])
    assert set(schemas["Problem"]["required"]) & {"errorCode", "sessionId"} == {"errorCode"}
