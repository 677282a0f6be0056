"""Turns that follow each other, conversations and their items, and tool calls that wait for a person."""

from __future__ import annotations

import json
import time

import openai
import pytest
from openai.types.conversations import Conversation, ConversationDeletedResource, ConversationItemList

from hosting.app import Principal
from hosting.core.archiving import PAGE_BYTES
from tests.hosting.features.responses.wired import Wired, answer_to, asked
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, served
from tests.support.signer import LINK, signer
from tests.support.strictly import events_of, strictly


@pytest.mark.behaviour("responses.conversations")
async def test_what_a_page_took_back_over_ag_ui_is_no_item_any_more() -> None:
    """The thread goes on from before it."""
    async with served(app_of(scripted_agent("Joker"), wires=["responses", "ag-ui"])) as (_, http):
        for run_id, text in (("r-1", "one"), ("r-2", "two")):
            messages = [{"id": "u", "role": "user", "content": text}]
            body = {"threadId": "t", "runId": run_id, "protocolVersion": "1.0", "messages": messages}
            assert (await http.post("/api/ag-ui/Joker", json=body)).status_code == 200
        items = (await http.get("/api/openai/v1/conversations/conv_joker~t/items?order=asc")).json()["data"]

    assert [item["content"][0]["text"] for item in items] == ["two", "echo: two"]


@pytest.mark.behaviour("responses.conversations")
async def test_a_page_of_items_ends_at_its_bytes(wired: Wired) -> None:
    """However many were asked for; the official client reads on."""
    conversations = wired.openai.conversations
    begun = await conversations.create(metadata={"agent_id": "Joker"})
    for number in range(12):
        await wired.create(f"{number}".ljust(PAGE_BYTES // 18, "x"), conversation=begun.id)

    first = await conversations.items.list(begun.id, order="asc", limit=100)
    items = [item async for item in first]

    assert (len(first.data), first.has_more) == (17, True)
    assert [item.type for item in items] == ["message"] * 24
    assert len({item.id for item in items}) == 24


@pytest.mark.behaviour("responses.metadata")
async def test_a_conversation_has_its_metadata_until_it_gets_other() -> None:
    """Before its first response, with it, after a reset, listed; all of it is changed at once, and goes with it."""
    wired = Wired(principal=lambda _: Principal("https://login.example", "ada"))
    conversations, given = wired.openai.conversations, {"agent_id": "Joker", "for": "a test", "control": "\1" * 512}
    begun = await conversations.create(metadata=given)
    read = await conversations.retrieve(begun.id)
    await wired.create("one", conversation=begun.id)
    await wired.http.post(f"http://app.example/api/agents/Joker/threads/{begun.id.partition('~')[2]}/reset")
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
async def test_a_conversation_that_has_no_metadata_yet_gets_some(wired: Wired) -> None:
    """Also before anything of it is written."""
    begun = await wired.openai.conversations.create(metadata={"agent_id": "Joker"})
    updated = await wired.openai.conversations.update(begun.id, metadata={"a": "b"})

    assert (begun.metadata, updated.metadata) == ({}, {"a": "b"})
    assert await wired.openai.conversations.retrieve(begun.id) == updated


@pytest.mark.behaviour("responses.conversations")
async def test_a_conversation_began_when_its_id_says_also_once_it_has_a_response(wired: Wired) -> None:
    """Not when its first event came. An id that only looks like one from here says nothing."""
    began = int(time.time()) - 100
    made, other = (f"conv_joker~{seconds:08x}{'0' * 24}" for seconds in (began, began - 10_000_000))
    before = await wired.openai.conversations.update(made, metadata={"a": "b"})
    for named in (made, other):
        await wired.create("hello", conversation=named)
    after = [await wired.openai.conversations.retrieve(named) for named in (made, other)]

    assert (before.created_at, after[0].created_at) == (began, began)
    assert after[1].created_at >= began + 100


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
async def test_metadata_that_is_too_much_is_refused(wired: Wired, metadata: object, reason: str) -> None:
    """By the protocol's limits, of a new conversation and of one that is there."""
    begun = (await wired.http.post("conversations", json={"metadata": {"agent_id": "Joker"}})).json()
    for path in ("conversations", f"conversations/{begun['id']}"):
        answer = await wired.http.post(path, json={"metadata": metadata})

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_field")
        assert reason in answer.json()["error"]["message"]


@pytest.mark.behaviour("responses.conversations")
async def test_a_conversations_objects_have_the_protocols_members_alone(wired: Wired) -> None:
    """Items of every kind that there is here."""
    begun = (await wired.http.post("conversations", json={"metadata": {"agent_id": "Joker"}})).json()
    await wired.create("tool thread_name", conversation={"id": begun["id"]})
    listed = (await wired.http.get(f"conversations/{begun['id']}/items")).json()

    assert strictly(Conversation, begun).metadata == {}
    assert [item.type for item in strictly(ConversationItemList, listed).data] == ["message", "mcp_call", "message"]
    for item in listed["data"]:
        assert (await wired.http.get(f"conversations/{begun['id']}/items/{item['id']}")).json() == item
    deleted = (await wired.http.delete(f"conversations/{begun['id']}")).json()
    assert strictly(ConversationDeletedResource, deleted).id == begun["id"]


@pytest.mark.behaviour("responses.conversations")
async def test_an_agents_conversations_are_listed_with_when_they_began() -> None:
    """Those that changed last first; as each is when it is read, also after a reset. Sessions of workflows are none."""
    wired = Wired(principal=lambda _: Principal("https://login.example", "ada"))
    for message, thread in (("one", "a"), ("two", "b"), ("three", "a")):
        await wired.create(message, conversation=f"conv_joker~{thread}")
    await wired.http.post("http://app.example/api/agents/Joker/threads/b/reset")
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
async def test_devui_learns_what_it_may_offer_and_the_agents(wired: Wired) -> None:
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
    wired: Wired, method: str, path: str, body: object, refusal: tuple[int, str]
) -> None:
    """By name, in the protocol's shape."""
    answer = await wired.http.request(method, path, **({} if body is None else {"json": body}))

    assert (answer.status_code, answer.json()["error"]["code"]) == refusal


@pytest.mark.behaviour("responses.conversations")
@pytest.mark.parametrize(
    ("method", "path", "body", "place"),
    [
        ("POST", "conversations", {}, "'metadata.agent_id'"),
        ("GET", "conversations", None, "'agent_id' in the query"),
        ("POST", "responses", {"input": "x"}, "'model'"),
    ],
)
async def test_a_request_that_names_no_agent_of_several_says_where_to_name_it(
    wired: Wired, method: str, path: str, body: object, place: str
) -> None:
    """Each has another place, and takes none of the others'."""
    answer = await wired.http.request(method, path, **({} if body is None else {"json": body}))

    assert answer.json()["error"]["message"].startswith(f"Name the agent as {place}. Agents: Joker, ")


@pytest.mark.behaviour("responses.conversations")
async def test_a_conversation_that_no_entity_can_hold_is_refused() -> None:
    """As a thread's id that is too long for its agent's name is on our own routes."""
    agent = "a" * 61
    async with served(app_of(scripted_agent(agent), wires=["responses"])) as (_, http):
        body = {"input": "x", "conversation": f"conv_{agent}~{'b' * 33}"}
        answer = await http.post("/api/openai/v1/responses", json=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_thread_id")


@pytest.mark.behaviour("responses.approvals")
async def test_a_tool_call_waits_for_a_person_and_is_made_once_it_is_approved(wired: Wired) -> None:
    """The call says which request it was, and what it was called with."""
    waits = await wired.create("call refund 7", model="Clerk")
    (request,) = asked(waits)
    body = {"model": "Clerk", "input": [answer_to(request)], "previous_response_id": waits.id}
    made = await wired.create(body["input"], model="Clerk", previous_response_id=waits.id)
    again = await wired.create(body["input"], model="Clerk", previous_response_id=waits.id)
    call = next(item for item in made.output if item.type == "mcp_call")

    assert (request.name, request.arguments, wired.notes[0].split()[:2]) == ("refund", '{"n": "7"}', ["refund", "7"])
    assert (call.approval_request_id, call.arguments, call.output) == (request.id, '{"n": "7"}', "refunded 7")
    assert made.output_text == "told: refunded 7"
    assert again == made
    assert len(wired.notes) == 1


@pytest.mark.behaviour("responses.approvals")
async def test_each_call_of_a_run_that_went_on_has_its_own_arguments(wired: Wired) -> None:
    """Two of one tool, of which one was refused, and one that nobody had to approve."""
    waits = await wired.create("call refund 1, refund 2, look 3", model="Clerk")
    first, second = asked(waits)
    answers = [answer_to(second), answer_to(first, approve=False)]
    made = await wired.create(answers, model="Clerk", previous_response_id=waits.id)
    calls = [item for item in made.output if item.type == "mcp_call"]

    assert [(call.name, call.arguments, call.approval_request_id, call.output) for call in calls] == [
        ("refund", '{"n": "2"}', second.id, "refunded 2"),
        ("look", '{"n": "3"}', None, "saw 3"),
    ]


@pytest.mark.behaviour("responses.approvals")
@pytest.mark.behaviour("authorizations.answered")
async def test_a_sign_in_is_asked_for_as_an_approval_with_the_link(wired: Wired) -> None:
    """Under the name of the kind: official clients have no other item that they can read and answer."""
    wired.app.agents["Clerk"].default_options["tools"] += signer(wired.notes.append).default_options["tools"]  # type: ignore[attr-defined]
    waits = await wired.create("call push 7", model="Clerk")
    (request,) = asked(waits)
    made = await wired.create([answer_to(request)], model="Clerk", previous_response_id=waits.id)

    shown = {"service": "GitHub", "url": LINK, "scopes": ["repo"]}
    assert (request.name, json.loads(request.arguments)) == ("authorization", shown)
    assert made.output_text == "told: branch 7 pushed by the app"


@pytest.mark.behaviour("responses.approvals")
async def test_a_refusal_reaches_the_model_and_the_tool_is_not_called(wired: Wired) -> None:
    """With its reason; streamed."""
    waits = await wired.create("call refund 7", model="Clerk")
    answers = [answer_to(one, approve=False, reason="too much") for one in asked(waits)]
    body = {"model": "Clerk", "input": answers, "previous_response_id": waits.id, "stream": True}
    events = events_of((await wired.http.post("responses", json=body)).text)

    assert "too much" in events[-1].response.output_text
    assert wired.notes == []


@pytest.mark.behaviour("responses.approvals")
async def test_several_approvals_are_answered_together(wired: Wired) -> None:
    """One alone is refused and nothing is recorded; a message meanwhile is a conflict."""
    waits = await wired.create("call refund 1, refund 2", model="Clerk")
    first, second = asked(waits)
    alone = await wired.refused(model="Clerk", input=[answer_to(first)], previous_response_id=waits.id)
    message = await wired.refused(model="Clerk", input="well?", previous_response_id=waits.id)
    both = [answer_to(first), answer_to(second, approve=False)]
    done = await wired.create(both, model="Clerk", previous_response_id=waits.id)
    late = await wired.refused(model="Clerk", input=[answer_to(first, False)], previous_response_id=waits.id)

    assert (alone[0], alone[1]["code"]) == (400, "unsupported_parameter")
    assert (message[0], message[1]["code"]) == (409, "approvals_pending")
    assert done.output_text.startswith("told: refunded 1 | ")
    assert (late[0], late[1]["code"]) == (409, "approval_answered")


@pytest.mark.behaviour("responses.approvals")
@pytest.mark.parametrize("arguments", ['{"n": "2"}', ""])
async def test_an_answer_with_other_arguments_is_refused(wired: Wired, arguments: object) -> None:
    """The protocol's item has none: left out without a word, the call would be made with the model's."""
    waits = await wired.create("call refund 1", model="Clerk")
    (request,) = asked(waits)
    changed = answer_to(request, arguments=arguments)

    status, error = await wired.refused(model="Clerk", input=[changed], previous_response_id=waits.id)
    done = await wired.create([answer_to(request)], model="Clerk", previous_response_id=waits.id)

    assert (status, error["code"], error["param"]) == (400, "unsupported_parameter", "input")
    assert error["message"].startswith("input[0] has 'arguments'")
    assert done.output_text == "told: refunded 1"


@pytest.mark.behaviour("responses.approvals")
async def test_answers_and_a_message_are_two_responses(wired: Wired) -> None:
    """And an answer belongs to a conversation."""
    waits = await wired.create("call refund 1", model="Clerk")
    (request,) = asked(waits)
    mixed = [answer_to(request), {"role": "user", "content": "and?"}]

    both = await wired.refused(model="Clerk", input=mixed, previous_response_id=waits.id)
    nowhere = await wired.refused(model="Clerk", input=[answer_to(request)])
    unknown = await wired.refused(
        model="Clerk",
        input=[{"type": "mcp_approval_response", "approval_request_id": "x", "approve": True}],
        previous_response_id=(await wired.create("hello", model="Clerk")).id,
    )

    assert (both[0], both[1]["code"]) == (nowhere[0], nowhere[1]["code"]) == (400, "unsupported_parameter")
    assert (unknown[0], unknown[1]["code"]) == (404, "unknown_approval")
