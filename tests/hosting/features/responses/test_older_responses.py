"""Responses that continue one which another continues already: each on a fork of its thread."""

from __future__ import annotations

import asyncio

import openai
import pytest

from hosting.app import Limit
from tests.hosting.features.responses.wired import Wired, answer_to, asked
from tests.support.app.scripted import scripted_agent
from tests.support.flows import FLOWS
from tests.support.made_app import app_of, served


@pytest.mark.behaviour("responses.forked")
async def test_an_older_response_is_continued_on_a_fork(wired: Wired) -> None:
    """By the official client, and from there on; the thread that it was on goes on without that."""
    responses = wired.openai.responses
    first = await wired.create("one")
    second = await wired.create("two", previous_response_id=first.id)

    other = await responses.create(model="Joker", input="two, and a half", previous_response_id=first.id)
    on = await responses.create(model="Joker", input="recall", previous_response_id=other.id)
    same = await responses.create(model="Joker", input="recall", previous_response_id=second.id)
    streamed = await responses.create(model="Joker", input="recall", previous_response_id=first.id, stream=True)
    *_, last = [event async for event in streamed]

    assert other.previous_response_id == first.id
    assert (await wired.read(other.id)).output_text == other.output_text == "echo: two, and a half"
    assert (on.output_text, same.output_text) == ("one | two, and a half | recall", "one | two | recall")
    assert last.type == "response.completed"
    assert last.response.output_text == "one | recall"
    await responses.delete(last.response.id)
    with pytest.raises(openai.APIStatusError, match="was deleted"):
        await responses.retrieve(last.response.id)


@pytest.mark.behaviour("responses.forked")
async def test_two_continue_a_response_at_once(wired: Wired) -> None:
    """One of them on its thread, and the other on a fork: neither sees the other."""
    first = await wired.create("one")

    both = await asyncio.gather(*(wired.create("recall", previous_response_id=first.id) for _ in range(2)))

    assert [one.output_text for one in both] == ["one | recall"] * 2
    assert len({one.id.split("~")[-1] for one in both}) == 2
    assert first.id.split("~")[-1] in {one.id.split("~")[-1] for one in both}


@pytest.mark.behaviour("responses.forked")
async def test_a_key_continues_an_older_response_once(wired: Wired) -> None:
    """Also after its fork has gone on; for something else the key is used, and a fork of our own route is another."""
    first = await wired.create("one")
    second = await wired.create("two", previous_response_id=first.id)
    await wired.create("three", previous_response_id=second.id)
    key = {"Idempotency-Key": "k"}
    wanted = {"model": "Joker", "input": "recall", "previous_response_id": first.id}

    made = [(await wired.http.post("responses", json=wanted, headers=key)).json()]
    await wired.create("and on", previous_response_id=made[0]["id"])
    made.append((await wired.http.post("responses", json=wanted, headers=key)).json())
    reused = [
        await wired.http.post("responses", json={**wanted, **other}, headers=key)
        for other in ({"input": "another"}, {"previous_response_id": second.id})
    ]
    thread_id = first.id.split("~")[-1]
    fork = await wired.http.post(
        f"http://app.example/api/agents/Joker/threads/{thread_id}/fork", json={"at": 2}, headers=key
    )

    assert made[0] == made[1]
    assert made[0]["previous_response_id"] == first.id
    assert [(one.status_code, one.json()["error"]["code"]) for one in reused] == [(409, "idempotency_key_reused")] * 2
    assert fork.status_code == 201
    assert fork.json()["thread_id"] != made[0]["id"].split("~")[-1]


@pytest.mark.behaviour("responses.forked")
async def test_an_older_response_of_which_nothing_is_kept_is_not_continued(wired: Wired) -> None:
    """Of a thread that was reset; it goes on from the newest one. One that failed has kept its request."""
    failed = await wired.create("fail")
    first = await wired.create("one", previous_response_id=failed.id)
    newest = await wired.create("two", previous_response_id=first.id)
    other = await wired.create("recall", previous_response_id=failed.id)
    await wired.http.post(f"http://app.example/api/agents/Joker/threads/{first.id.split('~')[-1]}/reset")

    refused = await wired.http.post(
        "responses", json={"model": "Joker", "input": "hi", "previous_response_id": first.id}
    )
    on = await wired.create("recall", previous_response_id=newest.id)

    assert other.output_text == "recall"
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "run_not_newest")
    assert refused.headers["x-should-retry"] == "false"
    assert on.output_text == "recall"


@pytest.mark.behaviour("responses.forked")
async def test_an_older_response_of_a_workflow_is_not_continued() -> None:
    """Each of its runs begins anew, and its threads are not forked."""
    async with served(app_of(scripted_agent("Joker"), workflows=FLOWS, wires=["responses"])) as (_, http):
        body = {"model": "Text", "input": "hi"}
        first = (await http.post("/api/openai/v1/responses", json=body)).json()
        continued = {**body, "previous_response_id": first["id"]}
        answers = [await http.post("/api/openai/v1/responses", json=continued) for _ in range(2)]

    assert [one.status_code for one in answers] == [200, 409]
    assert answers[1].json()["error"]["code"] == "run_not_newest"


@pytest.mark.behaviour("responses.forked")
async def test_an_older_response_is_continued_while_the_newest_waits_for_a_person(wired: Wired) -> None:
    """Who decides there as before."""
    first = await wired.create("hello", model="Clerk")
    waits = await wired.create("call refund 7", model="Clerk", previous_response_id=first.id)
    (request,) = asked(waits)

    other = await wired.create("and you?", model="Clerk", previous_response_id=first.id)
    done = await wired.create([answer_to(request)], model="Clerk", previous_response_id=waits.id)

    assert (other.output_text, done.output_text) == ("echo: and you?", "told: refunded 7")
    assert len(wired.notes) == 1


@pytest.mark.behaviour("http.limit-wires")
async def test_a_response_on_a_fork_counts_once_and_is_found_by_its_key() -> None:
    """It is begun by two steps, of which the thread refuses the first."""
    wired = Wired(limit=Limit(requests_per_minute=3))
    first = await wired.create("one")
    await wired.create("two", previous_response_id=first.id)
    older = {"model": "Joker", "input": "recall", "previous_response_id": first.id}
    keys = ({"Idempotency-Key": key} for key in "kkl")
    forked, again, other = [await wired.http.post("responses", json=older, headers=key) for key in keys]

    assert (forked.status_code, again.status_code, other.status_code) == (200, 200, 429)
    assert again.json() == forked.json()
