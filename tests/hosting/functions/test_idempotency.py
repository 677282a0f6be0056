"""`Idempotency-Key`: one run for however many requests."""

import asyncio
import uuid
from typing import Any

import httpx
import pytest

from tests.support.carriers import Api

RUN = "/api/agents/Joker/run"


def new_key() -> str:
    """Return a key that no other test uses."""
    return f"key-{uuid.uuid4().hex}"


async def send(api: Api, key: str, message: str = "hi", **fields: Any) -> httpx.Response:
    """Send a request under a key."""
    return await api.http.post(RUN, json={"message": message, **fields}, headers={"idempotency-key": key})


@pytest.mark.behaviour("http.idempotent")
async def test_a_request_sent_again_gets_the_same_answer_and_says_so(api: Api) -> None:
    """The first answer chose the thread; the second is that answer, and the conversation has one turn."""
    key = new_key()

    first = await send(api, key)
    again = await send(api, key)

    assert again.json() == first.json()
    assert ("idempotency-replayed" in first.headers, again.headers["idempotency-replayed"]) == (False, "true")
    assert len(await api.entries(first.json()["thread_id"])) == 2


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
