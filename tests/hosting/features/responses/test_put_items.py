"""Items that are put into a conversation without a response, by OpenAI's own client."""

from __future__ import annotations

from typing import Any

import pytest
from openai import APIStatusError

from tests.hosting.features.responses.wired import Wired

TALK: Any = [
    {"type": "message", "role": "user", "content": "my name is Ada"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Hello, Ada."}]},
    {"role": "user", "content": [{"type": "input_text", "text": "I like trains"}]},
]


def said(items: Any) -> list[tuple[str, str]]:
    """Return the roles and texts of items."""
    return [(item.role, "".join(part.text for part in item.content)) for item in items]


@pytest.mark.behaviour("responses.put")
async def test_a_conversation_begins_with_items(wired: Wired) -> None:
    """The model has them in the first response, and they are listed before it."""
    conversations = wired.openai.conversations
    begun = await conversations.create(items=TALK, metadata={"agent_id": "Joker", "mine": "x"})
    before = await conversations.items.list(begun.id, order="asc")
    answered = await wired.create("recall", conversation=begun.id)
    read = await conversations.retrieve(begun.id)

    assert said(before.data) == [("user", "my name is Ada"), ("assistant", "Hello, Ada."), ("user", "I like trains")]
    assert answered.output_text == "my name is Ada | I like trains | recall"
    assert (read.created_at, read.metadata) == (begun.created_at, {"agent_id": "Joker", "mine": "x"})


@pytest.mark.behaviour("responses.put")
async def test_items_that_are_added_stand_between_the_responses_before_and_after_them(wired: Wired) -> None:
    """They are answered as the conversation then lists and reads them, also to who keeps no metadata."""
    conversations = wired.openai.conversations
    begun = await conversations.create(metadata={"agent_id": "Joker"})
    await wired.create("one", conversation=begun.id)
    added = await conversations.items.create(begun.id, items=TALK[2:])
    await wired.create("two", conversation=begun.id)
    items = [item async for item in conversations.items.list(begun.id, order="asc", limit=2)]
    (item,) = added.data
    read = await conversations.items.retrieve(str(item.id), conversation_id=begun.id)

    assert said(items) == [
        *(("user", "one"), ("assistant", "echo: one")),
        ("user", "I like trains"),
        *(("user", "two"), ("assistant", "echo: two")),
    ]
    assert (items[2], read, added.first_id, added.has_more) == (item, item, item.id, False)


@pytest.mark.behaviour("responses.put")
async def test_a_key_adds_items_once(wired: Wired) -> None:
    """The same items come again; other items under it are refused."""
    begun = await wired.openai.conversations.create(metadata={"agent_id": "Joker"})
    create = wired.openai.conversations.items.create
    headers = {"Idempotency-Key": "k"}
    first, again = [await create(begun.id, items=TALK, extra_headers=headers) for _ in range(2)]
    with pytest.raises(APIStatusError) as refused:
        await create(begun.id, items=TALK[:1], extra_headers=headers)
    items = await wired.openai.conversations.items.list(begun.id)

    assert again == first
    assert refused.value.code == "idempotency_key_reused"
    assert len(items.data) == 3


@pytest.mark.behaviour("responses.put")
async def test_items_go_with_a_reset_and_with_the_conversation(wired: Wired) -> None:
    """As those of responses."""
    begun = await wired.openai.conversations.create(items=TALK, metadata={"agent_id": "Joker"})
    await wired.http.post(f"http://app.example/api/agents/Joker/threads/{begun.id.partition('~')[2]}/reset")
    emptied = await wired.openai.conversations.items.list(begun.id)
    await wired.openai.conversations.items.create(begun.id, items=TALK[:1])
    later = await wired.openai.conversations.items.list(begun.id)
    await wired.openai.conversations.delete(begun.id)

    assert (emptied.data, said(later.data)) == ([], [("user", "my name is Ada")])
    with pytest.raises(APIStatusError):
        await wired.openai.conversations.items.list(begun.id)


@pytest.mark.behaviour("responses.put")
@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        ([], "The field 'items' has 0 items. Send a list of 1 to 100 messages."),
        (TALK * 34, "The field 'items' has 102 items"),
        ("hello", "The field 'items' is a JSON string"),
        (["hello"], "The field 'items' has items that are not objects."),
        ([TALK[0], {"role": "system", "content": "obey"}], "items[1]: The role 'system' is not allowed here."),
        (
            [{"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}],
            "items[0] is of type 'function_call', and only messages",
        ),
        ([{"role": "user", "content": ""}], "items[0]: The message is blank."),
    ],
    ids=["none", "many", "text", "texts", "instructions", "call", "empty"],
)
async def test_other_items_are_refused_and_none_is_taken(wired: Wired, items: Any, sentence: str) -> None:
    """The answer names the place."""
    begun = await wired.openai.conversations.create(metadata={"agent_id": "Joker"})
    with pytest.raises(APIStatusError) as refused:
        await wired.openai.conversations.items.create(begun.id, items=items)

    assert (refused.value.status_code, sentence in refused.value.message) == (400, True), refused.value.message
    assert (await wired.openai.conversations.items.list(begun.id)).data == []


@pytest.mark.behaviour("responses.put")
async def test_items_are_refused_while_a_response_is_in_progress(wired: Wired) -> None:
    """Another attempt of it would begin with another conversation."""
    begun = await wired.openai.conversations.create(metadata={"agent_id": "Joker"})
    slow = await wired.create("sleep 60", conversation=begun.id, background=True)
    with pytest.raises(APIStatusError) as refused:
        await wired.openai.conversations.items.create(begun.id, items=TALK)
    await wired.openai.responses.cancel(slow.id)

    assert (refused.value.status_code, refused.value.code) == (409, "thread_busy")
