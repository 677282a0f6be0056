"""All that OpenAI's own client for Python can do with the wire; docs/reference/responses.md has the table."""

from __future__ import annotations

from typing import Any

import pytest
from openai import APIStatusError, NotFoundError
from openai.types import Model
from pydantic import BaseModel

from tests.hosting.features.responses.wired import Wired, answer_to, asked
from tests.support.carriers import GUARD_SECONDS
from tests.support.strictly import strictly

pytestmark = pytest.mark.behaviour("responses.client")

IGNORED: dict[str, Any] = {
    "context_management": [{"type": "compaction", "compact_threshold": 1000}],
    "image": {"detail": "low"},
    "include": ["reasoning.encrypted_content"],
    "max_tool_calls": 3,
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "auto"},
    "prompt_cache_retention": "24h",
    "safety_identifier": "s",
    "service_tier": "flex",
    "truncation": "auto",
    "user": "u",
}
USUAL: dict[str, Any] = {
    "parallel_tool_calls": True,
    "service_tier": "auto",
    "store": True,
    "stream_options": {"include_obfuscation": False},
    "tool_choice": "auto",
    "top_logprobs": 0,
    "truncation": "disabled",
}


class Said(BaseModel):
    """What an agent is to answer."""

    n: int


async def test_it_names_what_is_ignored_and_not_what_happens_anyway(wired: Wired) -> None:
    """In a header, which the client gives with a raw response, and in the metadata."""
    raw = await wired.openai.responses.with_raw_response.create(model="Joker", input="hello", **IGNORED)
    usual = await wired.openai.responses.with_raw_response.create(model="Joker", input="hello", **USUAL)

    assert raw.headers["x-ms-ignored"].split(", ") == sorted(IGNORED)
    assert raw.parse().metadata == {"ignored": raw.headers["x-ms-ignored"]}
    assert "x-ms-ignored" not in usual.headers


async def test_it_sends_what_the_client_has_no_word_for(wired: Wired) -> None:
    """Headers, a query, a body of its own, and a limit of time."""
    fields: dict[str, Any] = {"model": "Joker", "input": "hello", "timeout": GUARD_SECONDS, "extra_query": {"a": "b"}}
    first = await wired.openai.responses.create(**fields, extra_headers={"Idempotency-Key": "k"})
    again = await wired.openai.responses.create(**fields, extra_headers={"Idempotency-Key": "k"})
    named = await wired.openai.responses.create(input="hello", extra_body={"model": "Clerk"})
    async with wired.openai.responses.with_streaming_response.create(model="Joker", input="say it") as answer:
        streamed = (await answer.parse()).output_text

    assert (first.id, named.model, streamed) == (again.id, "Clerk", "it")


async def test_it_sends_pictures_and_files_and_parses_a_format() -> None:
    """A file as data; a format as the protocol's one object, or as a type, streamed or not."""
    wired = Wired({"AGENT_MODEL_INPUTS": "image/*, application/pdf"})
    picture: Any = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    content: Any = [{"type": "input_text", "text": "see"}, picture, file]
    schema = {"type": "object", "properties": {"format": {}}, "required": ["format"]}
    wanted: Any = {"type": "json_schema", "name": "it", "schema": schema, "strict": True}
    async with wired.http, wired.openai:
        responses = wired.openai.responses
        seen = await responses.create(model="Joker", input=[{"role": "user", "content": content}])
        formatted = await responses.create(model="Joker", input="formatted", text={"format": wanted})
        parsed = await responses.parse(model="Joker", input='say {"n": 7}', text_format=Said)
        async with responses.stream(model="Joker", input='say {"n": 8}', text_format=Said) as stream:
            streamed = await stream.get_final_response()

    assert seen.output_text.startswith("user text:see data:data:image/png;base64,iVBORw0KGgo= data:a.pdf:")
    assert '"name": "it"' in formatted.output_text
    assert formatted.text.to_dict() == {"format": wanted}  # type: ignore[union-attr]
    assert (parsed.output_parsed, streamed.output_parsed) == (Said(n=7), Said(n=8))


@pytest.mark.behaviour("responses.continued")
async def test_it_continues_a_response_and_answers_what_that_waits_for(wired: Wired) -> None:
    create = wired.openai.responses.create
    first = await create(model="Joker", input="my name is Ada")
    second = await create(model="Joker", input="recall", previous_response_id=first.id)
    waits = await create(model="Clerk", input="call refund 7")
    (asking,) = asked(waits)
    made = await create(model="Clerk", input=[answer_to(asking)], previous_response_id=waits.id)  # type: ignore[list-item]

    assert (second.output_text, made.output_text) == ("my name is Ada | recall", "told: refunded 7")


@pytest.mark.behaviour("responses.background")
@pytest.mark.behaviour("responses.cancel")
async def test_it_reads_follows_cancels_and_deletes_a_response(wired: Wired) -> None:
    """Of the background, with its metadata; a deleted one is not there."""
    responses = wired.openai.responses
    begun = await responses.create(model="Joker", input="say one two", background=True, metadata={"mine": "x"})
    events = [event async for event in await responses.retrieve(begun.id, stream=True, include_obfuscation=False)]
    read = await responses.retrieve(begun.id, include=["message.output_text.logprobs"])
    rest = [event async for event in await responses.retrieve(begun.id, stream=True, starting_after=3)]
    slow = await responses.create(model="Joker", input="sleep 60", background=True)
    cancelled = await responses.cancel(slow.id)
    listed = await responses.input_items.list(begun.id, limit=1, order="desc", include=["reasoning.encrypted_content"])
    behind = await responses.input_items.list(begun.id, after=listed.data[0].id)  # type: ignore[arg-type]
    await responses.delete(begun.id)

    assert (events[-1].type, read.output_text, read.metadata) == ("response.completed", "one two", {"mine": "x"})
    assert {event.sequence_number for event in rest} <= {e.sequence_number for e in events if e.sequence_number > 3}
    assert rest[-1] == events[-1]  # the words between may have come in one piece by now
    assert (cancelled.status, len(listed.data), behind.data) == ("cancelled", 1, [])
    with pytest.raises(APIStatusError, match="was deleted with its thread"):
        await responses.retrieve(begun.id)


@pytest.mark.behaviour("responses.models")
async def test_it_lists_and_reads_the_agents_as_models(wired: Wired) -> None:
    models = wired.openai.models
    names = [model.id async for model in models.list()]

    assert names == ["Joker", "Clerk"]
    assert strictly(Model, (await wired.http.get("models/joker")).json()).id == "Joker"
    with pytest.raises(NotFoundError, match=r"There is no agent 'gpt' here. Agents: Joker, Clerk."):
        await models.retrieve("gpt")
