"""`POST agents/<name>/run` and the run's status route, as docs/reference/http-runs.md promises them."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import httpx
import pytest

from tests.support.carriers import Api

RUN = "/api/agents/Joker/run"


def new_thread() -> str:
    """Return a thread id that no other test uses."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.mark.behaviour("http.answers-200")
async def test_a_json_request_is_answered_with_the_whole_json_answer(api: Api) -> None:
    """Every field of the 200 body, and the ids again in the headers."""
    thread = new_thread()

    answer = await api.ask("hello", thread_id=thread)

    run_id = answer.headers["x-ms-run-id"]
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "status": "success",
        "response": "echo: hello",
        "message": "hello",
        "thread_id": thread,
        "session_id": thread,
        "sessionId": thread,
        "run_id": run_id,
        "correlation_id": run_id,
        "correlationId": run_id,
        "message_count": 2,
        "messageCount": 2,
        "finish_reason": None,
        "incomplete": False,
        "usage": {"input_token_count": 3, "output_token_count": 4, "total_token_count": 7},
    }
    assert (answer.headers["x-ms-thread-id"], answer.headers["x-ms-session-id"]) == (thread, thread)


@pytest.mark.behaviour("http.peer-requests")
async def test_a_peers_text_request_is_answered_in_text_with_its_thread_in_a_header(api: Api) -> None:
    """The whole body is the message; the header leads to the second request."""
    first = await api.http.post(RUN, content="Tell me a joke", headers={"content-type": "text/plain"})
    thread = first.headers["x-ms-thread-id"]
    second = await api.http.post(
        RUN, params={"thread_id": thread}, content="recall", headers={"content-type": "text/plain"}
    )

    assert (first.status_code, first.text) == (200, "echo: Tell me a joke")
    assert first.headers["content-type"].startswith("text/plain")
    assert second.text == "Tell me a joke | recall"
    assert second.headers["x-ms-thread-id"] == thread


@pytest.mark.behaviour("http.peer-requests")
@pytest.mark.parametrize("spelling", ["header", "waitForResponse"])
async def test_a_peer_that_does_not_wait_gets_202_and_the_runs_location(api: Api, spelling: str) -> None:
    thread = new_thread()
    if spelling == "header":
        headers = {"x-ms-wait-for-response": "false", "content-type": "application/json"}
        answer = await api.http.post(RUN, json={"message": "hi", "thread_id": thread}, headers=headers)
    else:
        answer = await api.http.post(RUN, json={"message": "hi", "waitForResponse": False, "sessionId": thread})

    assert_accepted(answer, thread)
    ended = await api.ended(answer.headers["location"])
    assert (ended["status"], ended["response"]) == ("success", "echo: hi")


@pytest.mark.behaviour("http.failed-run")
async def test_a_failed_run_answers_a_problem_in_our_own_words(api: Api) -> None:
    """The foreign text goes to the log; the caller gets the code, the sentence and the ids. A developer gets it too."""
    answer = await api.ask("fail")

    problem = answer.json()
    run_id = answer.headers["x-ms-run-id"]
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert problem == {
        "type": "about:blank",
        "title": "Internal Server Error",
        "status": 500,
        "detail": told(api, run_id),
        "code": "run_failed",
        "error": problem["detail"],
        "thread_id": answer.headers["x-ms-thread-id"],
        "session_id": answer.headers["x-ms-thread-id"],
        "sessionId": answer.headers["x-ms-thread-id"],
        "run_id": run_id,
        "correlation_id": run_id,
        "correlationId": run_id,
        "errorCode": problem["code"],
    }
    assert api.is_over_socket or "secret" not in answer.text


def told(api: Api, run_id: str) -> str:
    """The sentence of a failed run: over a socket the local host answers, which serves its developer alone."""
    if api.is_over_socket:
        return f"Agent 'Joker' failed: RuntimeError: a secret of the model. The log has more at run {run_id}."
    return f"Agent 'Joker' failed; the log has the cause at run {run_id}."


@pytest.mark.parametrize(
    ("content_type", "accept", "form"),
    [
        ("application/json", "*/*", "application/json"),
        ("application/vnd.chat+json; charset=utf-8", "*/*", "application/json"),
        ("application/json", "text/plain", "text/plain"),
        ("application/json", "application/json;q=0.4, text/plain;q=0.5", "text/plain"),
        ("application/json", "text/*;q=0.5, application/*", "application/json"),
        ("text/plain", "*/*", "text/plain"),
        ("text/plain", "application/json", "application/json"),
        ("text/plain", "application/problem+json", "application/json"),
    ],
)
@pytest.mark.behaviour("http.negotiates")
async def test_the_answers_form_is_what_accept_prefers(direct: Api, content_type: str, accept: str, form: str) -> None:
    body = '{"message": "hi"}' if "json" in content_type else "hi"

    answer = await direct.http.post(RUN, content=body, headers={"content-type": content_type, "accept": accept})

    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, form)


@pytest.mark.behaviour("http.thread-id-spellings")
@pytest.mark.parametrize("where", ["thread_id", "session_id", "sessionId", "x-ms-thread-id", "x-ms-session-id"])
async def test_the_thread_is_named_in_any_of_its_spellings(direct: Api, where: str) -> None:
    """Body and query for the fields, headers for the rest; the headers' letter case does not count."""
    thread = new_thread()
    if where.startswith("x-ms"):
        answers = [await direct.http.post(RUN, json={"message": "hi"}, headers={where.upper(): thread})]
    else:
        answers = [
            await direct.http.post(RUN, json={"message": "hi", where: thread}),
            await direct.http.post(RUN, json={"message": "hi"}, params={where: thread}),
        ]

    assert {answer.json()["thread_id"] for answer in answers} == {thread}


@pytest.mark.behaviour("http.location-is-the-callers")
@pytest.mark.parametrize(
    ("host", "proto", "base"),
    [
        ("agents.example:8443", "https", "https://agents.example:8443/api"),
        ("[::1]:7071", "http", "http://[::1]:7071/api"),
        ("agents.example/x", "https", "/api"),
        ("agents.example", "javascript", "/api"),
    ],
)
async def test_the_location_is_built_from_what_the_caller_sees(direct: Api, host: str, proto: str, base: str) -> None:
    """The host forwards the caller's name and scheme; what cannot be one leads to a relative link."""
    headers = {"x-ms-wait-for-response": "0", "x-forwarded-host": host, "x-forwarded-proto": proto}

    answer = await direct.http.post(RUN, json={"message": "hi"}, headers=headers)

    run = answer.json()
    path = f"/agents/Joker/threads/{run['thread_id']}/runs/{run['run_id']}"
    assert answer.headers["location"] == base + path
    assert (await direct.ended(f"/api{path}"))["response"] == "echo: hi"


def assert_accepted(answer: httpx.Response, thread: str) -> None:
    """The whole 202: body, ids, status URL and pause."""
    run_id = answer.headers["x-ms-run-id"]
    assert answer.status_code == 202
    assert answer.json()["status"] in ("accepted", "running")
    assert {**answer.json(), "status": "accepted"} == {
        "status": "accepted",
        "response": "Agent request accepted",
        "message": "hi",
        "thread_id": thread,
        "session_id": thread,
        "sessionId": thread,
        "run_id": run_id,
        "correlation_id": run_id,
        "correlationId": run_id,
    }
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["location"].startswith("http://")
    assert answer.headers["location"].endswith(f"/api/agents/Joker/threads/{thread}/runs/{run_id}")


@pytest.mark.behaviour("http.answers-202")
@pytest.mark.parametrize("prefer", ["respond-async", "wait=0, respond-async"])
async def test_a_caller_that_prefers_not_to_wait_is_answered_at_once(direct: Api, prefer: str) -> None:
    """No wait is a wait of nothing, in whatever order the preferences stand (RFC 7240, 4.3)."""
    answer = await direct.http.post(RUN, json={"message": "meet 2"}, headers={"prefer": prefer})

    await direct.ask("meet 2")

    assert answer.status_code == 202
    assert set(answer.headers["preference-applied"].split(", ")) == set(prefer.split(", "))
    assert (await direct.ended(answer.headers["location"]))["status"] == "success"


def new_key() -> str:
    """Return a key that no other test uses."""
    return f"key-{uuid.uuid4().hex}"


async def send(api: Api, key: str, message: str = "hi", **fields: Any) -> httpx.Response:
    """Send a request under a key."""
    return await api.http.post(RUN, json={"message": message, **fields}, headers={"idempotency-key": key})


@pytest.mark.behaviour("http.idempotent")
async def test_eight_at_once_under_one_key_are_one_run(direct: Api) -> None:
    """They attach to the run that the first one opened, before it has ended."""
    key, before = new_key(), (await direct.stored())[0]

    answers = await asyncio.gather(*(send(direct, key, "sleep 0.1") for _ in range(8)))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert len([answer for answer in answers if "idempotency-replayed" in answer.headers]) == 7
    assert (await direct.stored())[0] == before + 1


@pytest.mark.behaviour("http.idempotency-key-reused")
@pytest.mark.parametrize("other", [{"message": "ho"}, {"enable_tool_calls": False}])
async def test_another_request_under_the_same_key_is_refused(direct: Api, other: dict[str, Any]) -> None:
    key = new_key()
    await send(direct, key)
    before, _ = await direct.stored()

    refused = await send(direct, key, **other)

    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_key_reused")
    assert (await direct.stored())[0] == before


@pytest.mark.behaviour("http.idempotent")
async def test_a_failed_run_is_not_run_again_by_its_key(direct: Api) -> None:
    key = new_key()

    first = await send(direct, key, "fail")
    again = await send(direct, key, "fail")

    assert (first.status_code, again.status_code) == (500, 500)
    assert again.json() == first.json()


@pytest.mark.behaviour("http.concurrent-runs-kept")
async def test_sixteen_at_once_on_one_thread_are_sixteen_turns(api: Api) -> None:
    """Each has its answer, and each its one turn in the conversation."""
    thread = f"t-{uuid.uuid4().hex[:12]}"

    answers = await asyncio.gather(*(api.ask(f"word-{n}", thread_id=thread) for n in range(16)))

    entries = await api.entries(thread, turns=16)
    runs = [answer.json()["run_id"] for answer in answers]
    assert [answer.json()["response"] for answer in answers] == [f"echo: word-{n}" for n in range(16)]
    assert sorted(entry["correlationId"] for entry in entries if entry["$type"] == "request") == sorted(runs)
    assert sorted(entry["correlationId"] for entry in entries if entry["$type"] == "response") == sorted(runs)
    assert sorted(answer.json()["message_count"] for answer in answers) == list(range(2, 34, 2))


SENT = [
    *(({"sec-fetch-site": site}, 403) for site in ("anything", "same-site", "cross-site")),
    ({"sec-fetch-site": "cross-site", "content-type": "multipart/form-data; boundary=a"}, 403),
    ({"sec-fetch-site": "cross-site", "content-type": "Text/Plain; charset=utf-8"}, 403),
    ({"sec-fetch-site": "cross-site", "x-functions-key": "k"}, 200),
    ({"sec-fetch-site": "cross-site", "authorization": "Bearer t"}, 200),
    *(({"sec-fetch-site": site}, 200) for site in ("same-origin", "none")),
    ({}, 200),
]


@pytest.mark.behaviour("http.other-sites")
async def test_a_form_of_another_site_s_page_starts_nothing_and_all_else_is_served(direct: Api) -> None:
    """It carries the cookies of a sign-in, so the app cannot know it from the user's own request by anything else.

    For what else another site's page sends, a browser asks first, and the host allows it or not.
    """
    for number, (headers, status) in enumerate(SENT):
        given = {"content-type": "text/plain", "x-ms-thread-id": f"forged-{number}", **headers}
        answer = await direct.http.post("/api/agents/Joker/run", content="Tell me a joke", headers=given)
        thread = await direct.http.get(f"/api/agents/Joker/threads/forged-{number}")

        assert (answer.status_code, thread.status_code) == (status, 404 if status == 403 else 200), headers
