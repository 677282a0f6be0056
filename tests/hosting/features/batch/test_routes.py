"""Batches over HTTP: what comes of each request, in which order, once, and beside others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest

from hosting.http import run_call, runs
from hosting.http.run_call import RawRequest, RunCall
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, app_of, ask, served

BATCH = "/api/agents/Joker/runs/batch"
JSON = {"content-type": "application/json"}
OF_A_RUN = ("thread_id", "session_id", "sessionId", "run_id", "correlation_id", "correlationId")


def joker(places: int = 8, **options: Any) -> AbstractAsyncContextManager[tuple[DirectHost, httpx.AsyncClient]]:
    """An app of Joker that waits for so many runs of batches at once."""
    return served(app_of(scripted_agent("Joker"), environ={**MEMORY, "AGENT_BATCH_RUNS": str(places)}, **options))


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with joker() as (_, client):
        yield client


async def send(http: httpx.AsyncClient, *requests: Any, key: str | None = None, **more: Any) -> httpx.Response:
    """Send a batch: a text is a message."""
    items = [{"message": each} if isinstance(each, str) else each for each in requests]
    headers = {**({} if key is None else {"idempotency-key": key}), **more.pop("headers", {})}
    return await asyncio.wait_for(
        http.post(BATCH, json={"requests": items, **more}, headers=headers, timeout=GUARD_SECONDS), GUARD_SECONDS
    )


def alike(body: dict[str, Any], run_id: str | None) -> dict[str, Any]:
    """Return an answer without its ids, also where a sentence has the run's."""
    kept = {name: value for name, value in body.items() if name not in OF_A_RUN}
    return dict(json.loads(json.dumps(kept).replace(run_id or "no run", "...")))


def answers(batch: httpx.Response) -> list[str | None]:
    """Return the texts of the answers, None for a refusal."""
    return [result["body"].get("response") for result in batch.json()["results"]]


REQUESTS: list[dict[str, Any]] = [
    {"message": "hi"},
    {"message": " "},
    {"massage": "hi"},
    {"message": "hi", "thread_id": "no/slash"},
    {"message": "hi", "contents": [{"$type": "text", "text": "more"}]},
    {"message": "fail"},
    {"message": "hi", "options": {"temperature": 1}},
    {"message": "give", "response_format": {"type": "nothing"}},
    {"message": "hi", "busy": "never"},
    {"message": "say 5", "response_format": {"type": "integer"}, "thread_id": "formatted"},
]


@pytest.mark.behaviour("batch.each")
async def test_each_request_of_a_batch_is_answered_as_by_itself(http: httpx.AsyncClient) -> None:
    batch = await http.post(BATCH, json={"requests": REQUESTS}, headers={"content-type": "application/vnd.batch+json"})
    results = batch.json()["results"]
    singly = [{**each, "thread_id": f"{each['thread_id']}2"} if "thread_id" in each else each for each in REQUESTS]
    alone = [await http.post("/api/agents/Joker/run", json=each) for each in singly]

    assert (batch.status_code, batch.json()["open"]) == (200, 0)
    assert [result["index"] for result in results] == list(range(len(REQUESTS)))
    assert [result["status"] for result in results] == [one.status_code for one in alone]
    assert len({result["status"] for result in results}) > 2
    for result, one in zip(results, alone, strict=True):
        run_id = one.json().get("run_id")
        assert alike(result["body"], result["run_id"]) == alike(one.json(), run_id) or "no/slash" in one.text
        assert (result["run_id"] is None) == (run_id is None)
        assert "x-ms-ignored" not in one.headers or result["headers"]["x-ms-ignored"] == one.headers["x-ms-ignored"]
        if run_id is not None:
            read = await http.get(result["run_url"])
            assert read.json()["run_id"] == result["run_id"] == result["headers"]["x-ms-run-id"]


WRONG_BATCHES: list[tuple[Any, str]] = [
    ([], "invalid_body"),
    ({}, "invalid_field"),
    ({"requests": {}}, "invalid_field"),
    ({"requests": []}, "invalid_field"),
    ({"requests": [{"message": "hi"}] * 101}, "invalid_field"),
    ({"requests": [{"message": "hi"}, "hi"]}, "invalid_field"),
    ({"requests": [{"message": "hi"}], "message": "hi"}, "unknown_field"),
    ({"requests": [{"message": "hi"}, {"message": "\ud800"}]}, "invalid_encoding"),
    ({"requests": [{"message": "hi"}], "stream": "perhaps"}, "invalid_field"),
    ({"requests": [{"message": "hi"}], "wait_for_response": "perhaps"}, "invalid_wait"),
]


@pytest.mark.behaviour("batch.each")
async def test_a_batch_of_a_wrong_form_begins_nothing() -> None:
    async with joker() as (host, http):
        refused = [await http.post(BATCH, content=json.dumps(body), headers=JSON) for body, _ in WRONG_BATCHES]
        await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
        nothing = dict(host.entities.states)
        begun = await http.post(BATCH, json={"requests": [{"message": "hi"}]})
        await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)

    assert [(one.status_code, one.json()["code"]) for one in refused] == [(400, code) for _, code in WRONG_BATCHES]
    assert nothing == {}
    assert (begun.status_code, len(host.entities.states)) == (200, 1)


OF_THE_WHOLE: list[tuple[Any, ...]] = [
    ({"stream": True}, "invalid_field"),
    ({"wait_for_response": True}, "invalid_field"),
    ({"waitForResponse": None}, "invalid_field"),
    ({"idempotency_key": 7}, "invalid_field"),
    ({"idempotency_key": "with a blank"}, "invalid_idempotency_key"),
]


@pytest.mark.behaviour("batch.each")
async def test_what_is_for_the_whole_batch_is_refused_in_one_request(http: httpx.AsyncClient) -> None:
    for member, code in OF_THE_WHOLE:
        batch = await send(http, "hi", {"message": "hi", **member})

        assert [result["status"] for result in batch.json()["results"]] == [200, 400]
        assert batch.json()["results"][1]["body"]["code"] == code


@pytest.mark.behaviour("batch.order")
async def test_requests_of_one_thread_have_their_runs_in_their_order(http: httpx.AsyncClient) -> None:
    names = ("thread_id", "session_id", "sessionId")
    of_thread = [{"message": f"word {number}", names[number % 3]: "t"} for number in range(6)]
    batch = await send(http, *of_thread, "alone", {"message": "recall", "thread_id": "t"})

    assert [answer.status_code for answer in (batch,)] == [200]
    assert answers(batch)[-1] == " | ".join([*(each["message"] for each in of_thread), "recall"])


@pytest.mark.behaviour("batch.once")
async def test_a_batch_sent_again_with_its_key_finds_its_runs(http: httpx.AsyncClient) -> None:
    """Each says that it is a replay; what was refused is tried again, and another body is refused in its place."""
    first = await send(http, "one", "", {"message": "own", "idempotency_key": "mine"}, key="k")
    again = await send(http, "one", "mended", {"message": "own", "idempotency_key": "mine"}, key="k")
    other = await send(http, "two", "mended", key="k")
    alone = await http.post("/api/agents/Joker/run", json={"message": "own"}, headers={"idempotency-key": "mine"})
    ids = [[result["run_id"] for result in one.json()["results"]] for one in (first, again)]

    assert ids[0][1] is None
    assert ids[1] == [ids[0][0], ids[1][1], ids[0][2]]
    assert ["idempotency-replayed" in result["headers"] for result in again.json()["results"]] == [True, False, True]
    assert [result["status"] for result in other.json()["results"]] == [409, 200]
    assert other.json()["results"][0]["body"]["code"] == "idempotency_key_reused"
    assert alone.json()["run_id"] == ids[0][2]


@pytest.mark.behaviour("batch.wait")
async def test_when_the_wait_is_over_every_request_has_begun_its_run() -> None:
    """Also those that had no place: three that meet need a fourth, which comes from outside."""
    async with joker(places=1) as (_, http):
        batch = await send(http, "meet 4", "meet 4", {"message": ""}, "meet 4", headers={"prefer": "wait=1"})
        results = batch.json()["results"]
        begun = [result for result in results if result["status"] == 202]
        last = await asyncio.wait_for(ask(http, "meet 4"), GUARD_SECONDS)
        ended = [await until_ended(http, result["headers"]["location"]) for result in begun]

    assert (batch.status_code, batch.headers["retry-after"], batch.json()["open"]) == (202, "1", 3)
    assert batch.headers["preference-applied"] == "wait=1"
    assert [result["status"] for result in results] == [202, 202, 400, 202]
    assert [result["headers"]["location"] for result in begun] == [result["run_url"] for result in begun]
    assert [one["response"] for one in ended] == ["4 have met"] * 3
    assert last.json()["response"] == "4 have met"


async def until_ended(http: httpx.AsyncClient, url: str) -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        while (answer := await http.get(url)).status_code == 202:  # noqa: ASYNC110 - the app ends it
            await asyncio.sleep(0)
        return dict(answer.json())

    return await asyncio.wait_for(read(), GUARD_SECONDS)


@pytest.mark.behaviour("batch.places")
async def test_so_many_runs_of_batches_are_waited_for_at_once() -> None:
    """Of four that wait for three the fourth has no place until they have met; with two places they never do."""
    async with joker(places=3) as (_, http):
        three = asyncio.ensure_future(send(http, "meet 3", "meet 3", "meet 3", "hi"))
        met = await three
    async with joker(places=2) as (_, http):
        two = await send(http, "meet 3", "meet 3", "meet 3", headers={"prefer": "wait=1"})
        ended = [await until_ended(http, result["run_url"]) for result in two.json()["results"]]

    assert answers(met) == [*["3 have met"] * 3, "echo: hi"]
    assert two.status_code == 202
    assert [one["response"] for one in ended] == ["3 have met"] * 3


@pytest.mark.behaviour("batch.each")
async def test_a_defect_of_ours_fails_one_request_and_says_no_more(
    monkeypatch: pytest.MonkeyPatch, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    parse = run_call.parse_run

    def broken(call: RawRequest, *rest: Any) -> RunCall:
        if b"private" in call.body:
            raise ZeroDivisionError
        return parse(call, *rest)

    monkeypatch.setattr(runs, "parse_run", broken)
    batch = await send(http, "private", "hi")

    assert [result["status"] for result in batch.json()["results"]] == [500, 200]
    assert batch.json()["results"][0]["body"]["code"] == "internal_error"
    assert "ZeroDivisionError" in caplog.text
    assert "private" not in caplog.text


@pytest.mark.behaviour("batch.order")
async def test_a_stream_waits_for_runs_longer_than_other_requests_do() -> None:
    """Until the end of each: it is not bound by the wait of the app."""
    environ = {**MEMORY, "AGENT_WAIT_SECONDS": "1"}
    async with served(app_of(scripted_agent("Joker"), environ=environ)) as (_, http):
        streamed = await send(http, "sleep 1.5", stream=True)
        together = await send(http, "sleep 1.5")

    assert '"response": "echo: sleep 1.5"' in streamed.text
    assert '"open": 0' in streamed.text
    assert (together.status_code, together.json()["open"]) == (202, 1)
