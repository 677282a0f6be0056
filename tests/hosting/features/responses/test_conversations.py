"""Turns that follow each other: conversations and their items, forks of older responses, and what DevUI reads."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import APIStatusError
from openai.types.conversations import Conversation

from hosting.app import Limit, Principal
from tests.support.app.scripted import scripted_agent
from tests.support.flows import FLOWS
from tests.support.made_app import app_of, served
from tests.support.openai_apps import ResponsesApp
from tests.support.strictly import strictly


@pytest.mark.behaviour("responses.metadata")
async def test_a_conversation_has_its_metadata_until_it_gets_other() -> None:
    """Before its first response, with it, after a reset, listed; all of it is changed at once, and goes with it."""
    wired = ResponsesApp(principal=lambda _: Principal("https://login.example", "ada"))
    conversations, given = wired.openai.conversations, {"agent_id": "Joker", "for": "a test", "control": "\1" * 512}
    begun = await conversations.create(metadata=given)
    read = await conversations.retrieve(begun.id)
    await wired.create("one", conversation=begun.id)
    await wired.ours("POST", f"Joker/threads/{begun.id.partition('~')[2]}/reset")
    updated = await conversations.update(begun.id, metadata={"for": "another"})
    await wired.host.entities.idle()
    listed = (await wired.http.get("conversations", params={"agent_id": "Joker"})).json()["data"]
    await conversations.update(begun.id, metadata=None)
    emptied = await conversations.retrieve(begun.id)
    await conversations.delete(begun.id)

    assert (begun.metadata, read, emptied.metadata) == (given, begun, {})
    assert [updated.metadata, *(one["metadata"] for one in listed)] == [{"for": "another"}] * 2
    with pytest.raises(openai.NotFoundError):
        await conversations.update(begun.id, metadata={"for": "nothing"})


@pytest.mark.behaviour("responses.metadata")
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({str(n): "" for n in range(17)}, "has 17 members. Send at most 16."),
        ({"a" * 65: ""}, "has to have 1 to 64 characters"),
        ({"a": "b" * 513}, "the text 'a' has 513 characters. Send at most 512."),
        ({str(n): "\u2603" * 512 for n in range(8)}, "bytes as JSON; the limit is 10240. Send less."),
        ({"a": 1}, "must have at most 16 texts"),
        (["a"], "must have at most 16 texts"),
        ("a", "must have at most 16 texts"),
    ],
)
async def test_metadata_that_is_too_much_is_refused(refusing: ResponsesApp, metadata: object, reason: str) -> None:
    """By the protocol's limits, of a new conversation and of one that is there."""
    begun = (await refusing.http.post("conversations", json={"metadata": {"agent_id": "Joker"}})).json()
    for path in ("conversations", f"conversations/{begun['id']}"):
        answer = await refusing.http.post(path, json={"metadata": metadata})

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_field")
        assert reason in answer.json()["error"]["message"]


@pytest.mark.behaviour("responses.conversations")
async def test_an_agents_conversations_are_listed_with_when_they_began() -> None:
    """Those that changed last first; as each is when it is read, also after a reset. Sessions of workflows are none."""
    wired = ResponsesApp(principal=lambda _: Principal("https://login.example", "ada"))
    for message, thread in (("one", "a"), ("two", "b"), ("three", "a")):
        await wired.create(message, conversation=f"conv_joker~{thread}")
    await wired.ours("POST", "Joker/threads/b/reset")
    await wired.create("four", model="Clerk")
    await wired.host.entities.idle()
    listed = (await wired.http.get("conversations", params={"agent_id": "joker"})).json()
    read = [(await wired.http.get(f"conversations/conv_joker~{thread}")).json() for thread in ("b", "a")]
    sessions = (await wired.http.get("conversations", params={"entity_id": "Joker", "type": "workflow_session"})).json()
    nobodys = await wired.http.get("conversations")

    assert listed == {"object": "list", "data": read, "has_more": False}
    assert [strictly(Conversation, one).id for one in read] == ["conv_joker~b", "conv_joker~a"]
    assert sessions["data"] == []
    assert (nobodys.status_code, nobodys.json()["error"]["code"]) == (404, "unknown_agent")


@pytest.mark.behaviour("responses.devui")
async def test_devui_learns_what_it_may_offer_and_the_agents(wired: ResponsesApp) -> None:
    """And nothing of their instructions or models. It names the agent by its id, beside the protocol's model."""
    named = await wired.create("hello", model=None, metadata={"entity_id": "joker"})  # type: ignore[arg-type]
    meta = (await wired.http.get("http://app.example/api/openai/meta")).json()
    entities = (await wired.http.get("entities")).json()["entities"]
    one = (await wired.http.get("entities/clerk/info?type=agent")).json()

    assert (meta["ui_mode"], meta["auth_required"], set(meta["capabilities"].values())) == ("user", False, {False})
    assert [(entity["id"], entity["type"]) for entity in entities] == [("Joker", "agent"), ("Clerk", "agent")]
    assert (one, entities[0].keys() & {"instructions", "model"}) == (entities[1], set())
    assert (await wired.http.get("entities/gpt/info")).status_code == 404
    assert named.model == "Joker"


@pytest.mark.behaviour("responses.conversations")
@pytest.mark.parametrize(
    ("method", "path", "body", "refusal"),
    [
        ("POST", "conversations", {}, (404, "unknown_agent")),
        ("POST", "conversations", {"metadata": {"agent_id": "gpt"}}, (404, "unknown_agent")),
        ("POST", "conversations", {"metadata": {"agent_id": "Joker"}, "items": [{}]}, (400, "invalid_field")),
        ("POST", "conversations", {"name": "x"}, (400, "unknown_field")),
        ("POST", "conversations/conv_joker~t", {"metadata": {}}, (404, "unknown_thread")),
        ("POST", "conversations/conv_joker~t", {}, (400, "invalid_field")),
        ("POST", "conversations/conv_joker~t", {"metadata": {}, "name": "x"}, (400, "unknown_field")),
        ("POST", "conversations/conv_joker~t/items", {"items": []}, (400, "invalid_field")),
        ("DELETE", "conversations/conv_joker~t/items/i", None, (400, "unsupported_parameter")),
        ("GET", "conversations/conv_joker~t", None, (404, "unknown_thread")),
        ("GET", f"conversations/conv_joker~{'0' * 32}/items/i", None, (404, "unknown_thread")),
        ("GET", f"conversations/conv_joker~{'0' * 32}/items?limit=0", None, (400, "invalid_field")),
        ("GET", f"conversations/conv_joker~{'0' * 32}/items?order=up", None, (400, "invalid_field")),
        ("GET", f"conversations/conv_joker~{'0' * 32}/items?after=x", None, (400, "invalid_field")),
    ],
)
async def test_what_a_conversation_does_not_have_is_refused(
    refusing: ResponsesApp, method: str, path: str, body: object, refusal: tuple[int, str]
) -> None:
    """By name, in the protocol's shape."""
    answer = await refusing.http.request(method, path, **({} if body is None else {"json": body}))

    assert (answer.status_code, answer.json()["error"]["code"]) == refusal


TALK: Any = [
    {"type": "message", "role": "user", "content": "my name is Ada"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Hello, Ada."}]},
    {"role": "user", "content": [{"type": "input_text", "text": "I like trains"}]},
]


def said(items: Any) -> list[tuple[str, str]]:
    return [(item.role, "".join(part.text for part in item.content)) for item in items]


@pytest.mark.behaviour("responses.put")
@pytest.mark.behaviour("responses.client")
async def test_a_conversation_begins_with_items_and_gets_others_between_its_responses(wired: ResponsesApp) -> None:
    """The model has those of the beginning; added ones are listed at their place, and read."""
    conversations = wired.openai.conversations
    begun = await conversations.create(items=TALK, metadata={"agent_id": "Joker", "mine": "x"})
    first = await wired.create("recall", conversation=begun.id)
    added = await conversations.items.create(begun.id, items=TALK[2:])
    second = await wired.openai.responses.create(model="Joker", input="two", conversation={"id": begun.id})
    items = [item async for item in conversations.items.list(begun.id, order="asc", limit=2)]
    (item,) = added.data
    read = await conversations.items.retrieve(str(item.id), conversation_id=begun.id)
    conversation = await conversations.retrieve(begun.id)

    assert first.output_text == "my name is Ada | I like trains | recall"
    assert said(items) == [
        *(("user", "my name is Ada"), ("assistant", "Hello, Ada."), ("user", "I like trains")),
        *(("user", "recall"), ("assistant", first.output_text)),
        ("user", "I like trains"),
        *(("user", "two"), ("assistant", second.output_text)),
    ]
    assert (items[5], read, added.first_id, added.has_more) == (item, item, item.id, False)
    assert (await wired.http.get(f"conversations/{begun.id}/items/{item.id}")).status_code == 200
    assert (conversation.created_at, conversation.metadata) == (begun.created_at, {"agent_id": "Joker", "mine": "x"})


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
async def test_other_items_are_refused_and_none_is_taken(refusing: ResponsesApp, items: Any, sentence: str) -> None:
    begun = await refusing.openai.conversations.create(metadata={"agent_id": "Joker"})
    with pytest.raises(APIStatusError) as refused:
        await refusing.openai.conversations.items.create(begun.id, items=items)

    assert (refused.value.status_code, sentence in refused.value.message) == (400, True), refused.value.message
    assert (await refusing.openai.conversations.items.list(begun.id)).data == []


@pytest.mark.behaviour("responses.put")
async def test_items_are_refused_while_a_response_is_in_progress(wired: ResponsesApp) -> None:
    """Another attempt of it would begin with another conversation."""
    begun = await wired.openai.conversations.create(metadata={"agent_id": "Joker"})
    slow = await wired.create("sleep 60", conversation=begun.id, background=True)
    with pytest.raises(APIStatusError) as refused:
        await wired.openai.conversations.items.create(begun.id, items=TALK)
    await wired.openai.responses.cancel(slow.id)

    assert (refused.value.status_code, refused.value.code) == (409, "thread_busy")


@pytest.mark.behaviour("responses.forked")
async def test_an_older_response_is_continued_on_a_fork(wired: ResponsesApp) -> None:
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
@pytest.mark.behaviour("http.limit-wires")
async def test_a_key_continues_an_older_response_once() -> None:
    """Also after its fork has gone on; for something else the key is used, and a fork of our own route is another.

    It is begun by two steps, of which the thread refuses the first, and counts once.
    """
    wired = ResponsesApp(limit=Limit(requests_per_minute=4))
    first = await wired.create("one")
    second = await wired.create("two", previous_response_id=first.id)
    key = {"idempotency-key": "k"}
    wanted = {"model": "Joker", "input": "recall", "previous_response_id": first.id}

    made = [(await wired.http.post("responses", json=wanted, headers=key)).json()]
    await wired.create("and on", previous_response_id=made[0]["id"])
    made.append((await wired.http.post("responses", json=wanted, headers=key)).json())
    reused = [
        await wired.http.post("responses", json={**wanted, **other}, headers=key)
        for other in ({"input": "another"}, {"previous_response_id": second.id})
    ]
    fork = await wired.ours("POST", f"Joker/threads/{first.id.split('~')[-1]}/fork", {"at": 2}, **key)
    other = await wired.http.post("responses", json=wanted)

    assert made[0] == made[1]
    assert made[0]["previous_response_id"] == first.id
    assert [(one.status_code, one.json()["error"]["code"]) for one in reused] == [(409, "idempotency_key_reused")] * 2
    assert fork.status_code == 201
    assert fork.json()["thread_id"] != made[0]["id"].split("~")[-1]
    assert (other.status_code, other.json()["error"]["code"]) == (429, "limit_exceeded")


@pytest.mark.behaviour("responses.forked")
async def test_an_older_response_of_which_nothing_is_kept_is_not_continued(wired: ResponsesApp) -> None:
    """Of a thread that was reset; it goes on from the newest one. One that failed has kept its request."""
    failed = await wired.create("fail")
    first = await wired.create("one", previous_response_id=failed.id)
    newest = await wired.create("two", previous_response_id=first.id)
    other = await wired.create("recall", previous_response_id=failed.id)
    await wired.ours("POST", f"Joker/threads/{first.id.split('~')[-1]}/reset")

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
