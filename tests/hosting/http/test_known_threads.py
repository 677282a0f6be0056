"""Whatever is answered about a thread names it: in headers, and in a problem's members."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.carriers import Api

THREADS = "/api/agents/Joker/threads"
RUN = "/api/agents/Joker/run"
TEXT = {"accept": "text/plain"}


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
@pytest.mark.parametrize("headers", [{}, TEXT], ids=["json", "text"])
async def test_a_run_that_is_refused_names_the_thread_that_it_was_to_be_on(
    direct: Api, headers: dict[str, str]
) -> None:
    keyed: dict[str, Any] = {"headers": {**headers, "idempotency-key": f"named-{id(headers)}"}}
    await direct.http.post(RUN, json={"message": "hi", "thread_id": "named"}, **keyed)

    refused = await direct.http.post(RUN, json={"message": "ho", "thread_id": "named"}, **keyed)

    assert refused.status_code == 409
    assert refused.headers.items() >= named("named").items()


@pytest.mark.behaviour("http.names-the-thread")
async def test_a_name_that_no_thread_has_is_repeated_in_no_header(direct: Api) -> None:
    answer = await direct.http.get(f"{THREADS}/n%0Ao")

    assert (answer.status_code, "x-ms-thread-id" in answer.headers, "thread_id" in answer.json()) == (404, False, False)
