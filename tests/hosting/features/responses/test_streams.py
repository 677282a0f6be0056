"""Responses as events: by the official client, resumed at any number, in the background, cancelled, not stored."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from tests.hosting.features.responses.wired import Wired, joined
from tests.support.carriers import GUARD_SECONDS
from tests.support.strictly import events_of


async def streamed(wired: Wired, message: str, **fields: Any) -> list[Any]:
    """Return the events of a new response."""
    body = {"model": "Joker", "input": message, "stream": True, **fields}
    answer = await wired.http.post("responses", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    return events_of(answer.text)


async def followed(wired: Wired, identifier: str, **query: str) -> list[Any]:
    """Return the events of a response that is there."""
    answer = await wired.http.get(f"responses/{identifier}", params={"stream": "true", **query})
    return events_of(answer.text)


@pytest.mark.behaviour("responses.stream")
async def test_a_response_is_streamed_as_the_agent_speaks(wired: Wired) -> None:
    """Its words, and its end is what is read of it afterwards."""
    events = await streamed(wired, "say one two three")

    assert "".join(one.delta for one in events if one.type == "response.output_text.delta") == "one two three"
    assert [one.type for one in joined(events)] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert await wired.read(events[-1].response.id) == events[-1].response


@pytest.mark.behaviour("responses.resume")
async def test_the_official_client_resumes_in_both_of_its_forms(wired: Wired) -> None:
    """By a plain read, and by its accumulating stream."""
    events = await streamed(wired, "say one two three")
    last = next(one for one in reversed(events) if one.type == "response.output_text.delta")
    identifier, middle = events[-1].response.id, last.sequence_number - len(" two three")

    plain = await wired.openai.responses.retrieve(identifier, stream=True, starting_after=middle)
    rest = [event async for event in plain]
    async with wired.openai.responses.stream(response_id=identifier, starting_after=middle) as stream:
        final = await stream.get_final_response()

    assert "".join(one.delta for one in rest if one.type == "response.output_text.delta") == " two three"
    assert final.output_text == "one two three"


@pytest.mark.behaviour("responses.store")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_that_is_not_stored_is_gone_once_it_is_answered(wired: Wired, stream: bool) -> None:
    """Its thread too."""
    if stream:
        answered = (await streamed(wired, "hello", store=False))[-1].response
    else:
        answered = await wired.create("hello", store=False)
    await asyncio.wait_for(wired.host.entities.idle(), GUARD_SECONDS)
    read = await wired.http.get(f"responses/{answered.id}")

    assert answered.output_text == "echo: hello"
    assert (read.status_code, read.json()["error"]["code"]) == (410, "thread_deleted")
    assert wired.host.entities.states == {}


@pytest.mark.behaviour("responses.store")
async def test_a_response_that_is_not_stored_and_not_answered_yet_goes_with_its_answer() -> None:
    """Its caller had nothing of it before. It is not continued, also while it is there still."""
    wired = Wired({"AGENT_WAIT_SECONDS": "0"})
    async with wired.http:
        created = await wired.create("meet 2", store=False)
        status, error = await wired.refused(model="Joker", input="and?", previous_response_id=created.id)
        other = await wired.create("meet 2")
        events, _ = [await followed(wired, each.id) for each in (created, other)]
        await asyncio.wait_for(wired.host.entities.idle(), GUARD_SECONDS)
        read = await wired.http.get(f"responses/{created.id}")

    assert created.status in ("queued", "in_progress")
    assert (status, error["code"]) == (409, "thread_deleting")
    assert events[-1].response.output_text == "2 have met"
    assert (read.status_code, len(wired.host.entities.states)) == (410, 1)


@pytest.mark.behaviour("responses.deleted")
async def test_the_stream_of_a_response_whose_thread_is_deleted_ends_with_an_error(wired: Wired) -> None:
    """Of the protocol's kind, which the official client reads as an event."""
    created = await wired.create("sleep 60", background=True)
    following = asyncio.ensure_future(followed(wired, created.id))
    await asyncio.sleep(0)
    await wired.http.delete(f"conversations/conv_{created.id.partition('~')[2]}")
    events = await asyncio.wait_for(following, GUARD_SECONDS)

    assert (events[-1].type, events[-1].code) == ("error", "thread_deleted")


@pytest.mark.behaviour("responses.delete")
async def test_a_response_is_deleted_with_its_thread_if_it_is_alone_there(wired: Wired) -> None:
    """One of several is refused, and its conversation named."""
    alone, first = await wired.create("hello"), await wired.create("one")
    second = await wired.create("two", previous_response_id=first.id)

    await wired.openai.responses.delete(alone.id)

    with pytest.raises(openai.APIStatusError) as gone:
        await wired.openai.responses.retrieve(alone.id)
    assert gone.value.status_code == 410
    with pytest.raises(openai.BadRequestError, match=r"Delete that: conversations/conv_joker~"):
        await wired.openai.responses.delete(second.id)


@pytest.mark.behaviour("responses.same-run")
async def test_a_run_is_the_same_over_our_own_routes_and_the_wire(wired: Wired) -> None:
    """Begun by either, read by the other."""
    created = await wired.create("say one two", conversation=None)
    run_id, _, thread_id = created.id.removeprefix("resp_").split("~")
    ours = (await wired.http.get(f"http://app.example/api/agents/Joker/threads/{thread_id}/runs/{run_id}")).json()
    asked = await wired.http.post("http://app.example/api/agents/Joker/run", json={"message": "say three"})
    theirs = await wired.read(f"resp_{asked.json()['run_id']}~joker~{asked.json()['thread_id']}")

    assert ours["response"] == created.output_text == "one two"
    assert theirs.output_text == asked.json()["response"] == "three"
