"""What upstream's clients read of answers: both spellings, and the thread that an answer is about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.carriers import Api
from tests.support.made_app import app_of, ask, served

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


@pytest.mark.behaviour("http.both-spellings")
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


THREADS = "/api/agents/Joker/threads"


def named(thread_id: str) -> dict[str, str]:
    return {"x-ms-thread-id": thread_id, "x-ms-session-id": thread_id}


@pytest.mark.behaviour("http.names-the-thread")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/messages"),
        ("GET", "/runs"),
        ("GET", "/export"),
        ("POST", "/reset"),
        ("DELETE", ""),
        ("GET", "/messages?limit=0"),
        ("GET", "/runs/nothing"),
        ("POST", "/runs/nothing/cancel"),
    ],
)
async def test_an_answer_about_a_thread_names_it(direct: Api, method: str, path: str) -> None:
    await direct.ask("hi", thread_id="named")

    answer = await direct.http.request(method, f"{THREADS}/named{path}")

    assert answer.headers.items() >= named("named").items()
    if answer.headers["content-type"] == "application/problem+json":
        assert (answer.json()["thread_id"], answer.json()["session_id"]) == ("named", "named")


@pytest.mark.behaviour("http.names-the-thread")
async def test_a_name_that_no_thread_has_is_repeated_in_no_header(direct: Api) -> None:
    answer = await direct.http.get(f"{THREADS}/n%0Ao")

    assert (answer.status_code, "x-ms-thread-id" in answer.headers, "thread_id" in answer.json()) == (404, False, False)
