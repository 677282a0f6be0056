"""Chats over the AI SDK's stream: messages, answers to what a run waits for, and what a reload reads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.ai_sdk import Chat, Chats, Chunk, chunks_of, kinds, text_of, texts
from tests.support.carriers import GUARD_SECONDS
from tests.support.joining import both, steered
from tests.support.owned_app import signed_in
from tests.support.signer import LINK

WHERE = {"name": "where", "parameters": {"type": "object", "properties": {"n": {"type": "string"}}}}


def states(message: dict[str, Any]) -> dict[str, str]:
    """Return the state of each call in a message, by its tool."""
    return {part["type"]: part["state"] for part in message["parts"] if "toolCallId" in part}


async def decided(chat: Chat, **answer: Any) -> None:
    """Answer all that the stored chat waits for, as the client does in its own copy."""
    chat.messages = await chat.stored()
    for part in chat.messages[-1]["parts"]:
        if part.get("state") == "approval-requested":
            part |= {"state": "approval-responded", "approval": {"id": part["approval"]["id"], **answer}}


async def until_begun(chats: Chats) -> str:
    """Return the id of the chat's run, once there is one."""
    runs: list[Any] = []
    while not runs:
        await asyncio.sleep(0)
        answer = await chats.http.get("agents/Joker/threads/chat1/runs")
        runs = answer.json().get("runs", []) if answer.status_code == 200 else []
    return str(runs[0]["run_id"])


@pytest.mark.behaviour("ai-sdk.run")
async def test_a_message_is_a_run_and_the_same_message_again_is_that_run(chats: Chats) -> None:
    chat = chats.chat()

    chunks, again = await chat.send("say one two"), await chat.post()
    (run,) = (await chats.http.get("agents/Joker/threads/chat1/runs")).json()["runs"]

    assert kinds(chunks) == ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"]
    assert chunks[0] == {
        "type": "start",
        "messageId": run["run_id"],
        "messageMetadata": {"threadId": "chat1", "runId": run["run_id"]},
    }
    assert text_of(chunks) == text_of(again) == "one two"
    assert chunks[-1]["finishReason"] == "stop"


@pytest.mark.behaviour("ai-sdk.resume")
async def test_an_open_run_is_followed_from_its_start_by_whoever_comes(chats: Chats) -> None:
    """A chat without an open run has nothing to follow, and says so without an error."""
    before = await chats.http.get("ai-sdk/Joker/chat1/stream")
    sending = asyncio.ensure_future(chats.chat().send("meet 2"))
    await until_begun(chats)
    following = asyncio.ensure_future(chats.http.get("ai-sdk/Joker/chat1/stream"))
    second = await chats.chat(chat_id="chat2").send("meet 2")
    sent, followed = await asyncio.wait_for(asyncio.gather(sending, following), GUARD_SECONDS)
    after = await chats.http.get("ai-sdk/Joker/chat1/stream")

    assert (before.status_code, after.status_code, after.text) == (204, 204, "")
    assert chunks_of(followed.text) == sent
    assert text_of(sent) == text_of(second)


@pytest.mark.behaviour("ai-sdk.again")
async def test_a_regenerated_or_edited_message_takes_back_what_came_after_it(chats: Chats) -> None:
    """Also one that was regenerated before, and one of a chat of which the app knows nothing is just asked."""
    chat = chats.chat()
    await chat.send("my name is Ada", "u1")
    await chat.send("recall", "u2")
    again = [await chat.post(trigger="regenerate-message") for _ in range(2)]
    chat.messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "my name is Grace"}]}]
    edited = await chat.post(messageId="u1")
    recalled = await chat.send("recall", "u3")
    chat.messages = [{"id": "u9", "role": "user", "parts": [{"type": "text", "text": "say one"}]}]
    status, problem = await chat.refused(trigger="regenerate-message")

    assert (status, problem["code"], "u9" in problem["detail"]) == (409, "run_not_newest", True)
    assert [text_of(chunks) for chunks in again] == ["my name is Ada | recall"] * 2
    assert (text_of(edited), text_of(recalled)) == ("echo: my name is Grace", "my name is Grace | recall")
    assert [message["id"] for message in await chat.stored()][::2] == ["u1", "u3"]


@pytest.mark.behaviour("ai-sdk.approvals")
async def test_a_run_that_waits_goes_on_with_the_answer_in_the_same_message(chats: Chats) -> None:
    """The same answers again find the run that went on; a chat that is reloaded has all of it."""
    chat = chats.chat("Clerk")
    asked = await chat.send("call refund 4")
    (request,) = [chunk for chunk in asked if chunk["type"] == "tool-approval-request"]
    await decided(chat, approved=True)
    answered, again = await chat.post(), await chat.post()
    *_, answer = await chat.stored()

    assert asked[-1] == {"type": "finish", "finishReason": "tool-calls"}
    assert answered[0]["messageId"] == asked[0]["messageId"] == answer["id"]
    assert answered[1] == {"type": "tool-approval-response", "approvalId": request["approvalId"], "approved": True}
    assert (text_of(answered), answered) == ("told: refunded 4", again)
    assert states(answer) == {"tool-refund": "output-available"}
    assert texts(answer) == "One moment.told: refunded 4"
    assert len(chats.notes) == 1


@pytest.mark.behaviour("ai-sdk.approvals")
async def test_a_refused_call_is_denied_and_the_model_is_told_why(chats: Chats) -> None:
    chat = chats.chat("Clerk")
    await chat.send("call refund 4")
    await decided(chat, approved=False, reason="too much")
    answered = await chat.post()

    assert "tool-output-denied" in kinds(answered)
    assert text_of(answered).endswith("Reason: too much")
    assert states((await chat.stored())[-1]) == {"tool-refund": "output-denied"}


@pytest.mark.behaviour("approvals.shown-arguments")
async def test_a_call_that_was_made_beside_one_that_waited_has_its_input(chats: Chats) -> None:
    """In the run that goes on, and in the chat as it is read again."""
    chat = chats.chat("Clerk")
    await chat.send("call refund 4, look 5")
    await decided(chat, approved=True)
    (call,) = [chunk for chunk in await chat.post() if chunk["type"] == "tool-input-available"]
    (read,) = [part for part in (await chat.stored())[-1]["parts"] if part["type"] == "tool-look"]

    assert (call["toolName"], call["input"], read["input"]) == ("look", {"n": "5"}, {"n": "5"})


@pytest.mark.behaviour("ai-sdk.client-tools")
async def test_the_result_of_a_tool_of_the_client_goes_on(chats: Chats) -> None:
    """The call is the client's to make: it is not marked as made. An error is a result too."""
    given: dict[str, Any] = {"state": "output-available", "output": {"at": "home"}}
    failed: dict[str, Any] = {"state": "output-error", "errorText": "no signal"}
    told = []
    for number, result in enumerate((given, failed)):
        chat = chats.chat("Clerk", f"chat{number}")
        asked = await chat.send("call where 7", client_tools=[WHERE])
        (call,) = [chunk for chunk in asked if chunk["type"] == "tool-input-available"]
        assert "providerExecuted" not in call
        chat.messages = await chat.stored()
        chat.messages[-1]["parts"][-1] |= result
        told.append(text_of(await chat.post()))

    assert told == ['told: {"at": "home"}', "told: Error: no signal"]


@pytest.mark.behaviour("ai-sdk.questions")
async def test_a_question_of_a_tool_is_answered_by_the_output_of_its_call(chats: Chats) -> None:
    chat = chats.chat("Asker")
    asked = await chat.send("call ship 7")
    (question,) = [chunk for chunk in asked if chunk["type"] == "data-question"]
    chat.messages = await chat.stored()
    (part,) = [part for part in chat.messages[-1]["parts"] if part.get("toolCallId") == question["id"]]
    part |= {"state": "output-available", "output": "Main Street 1"}
    answered = await chat.post()

    assert question["data"]["toolCallId"] == question["id"]
    assert question["data"]["question"] == "Which street?"
    (following,) = [chunk for chunk in answered if chunk["type"] == "data-question"]
    assert following["data"]["question"] == "Which number in Main Street 1?"


@pytest.mark.behaviour("ai-sdk.approvals")
async def test_a_sign_in_is_asked_for_with_its_link_and_granted_as_an_approval(chats: Chats) -> None:
    (wanted,) = [
        chunk for chunk in await chats.chat("Signer").send("call push 7") if chunk["type"] == "data-authorization"
    ]

    assert wanted["data"] == {"toolCallId": wanted["id"], "service": "GitHub", "url": LINK, "scopes": ["repo"]}


MADE = {"type": "tool-look", "toolCallId": "c", "providerExecuted": True, "state": "output-available", "output": "x"}
"""A call that the app made: its output answers nothing."""


@pytest.mark.behaviour("ai-sdk.refused")
@pytest.mark.parametrize(
    ("fields", "code", "word"),
    [
        ({"messages": []}, "missing_message", "messages"),
        ({"messages": {}}, "invalid_field", "JSON object"),
        ({"messages": ["hi"]}, "invalid_field", "messages[0]"),
        ({"messages": [{"id": "u", "role": "user", "parts": "hi"}]}, "invalid_field", "messages[0].parts"),
        ({"messages": [{"id": "u", "role": "user", "parts": []}]}, "missing_message", "messages[0]"),
        ({"messages": [{"id": "a b", "role": "user", "parts": []}]}, "invalid_field", "messages[0].id"),
        ({"messages": [{"id": "u", "role": "system", "parts": []}]}, "invalid_field", "messages[0].role"),
        ({"messages": [{"id": "u", "role": "assistant", "parts": []}]}, "missing_message", "assistant"),
        ({"messages": [{"id": "u", "role": "assistant", "parts": [MADE]}]}, "missing_message", "assistant"),
        ({"messages": [{"id": "u", "role": "user", "parts": [{"type": "audio"}]}]}, "not_served", "parts[0]"),
        ({"messages": [{"id": "u", "role": "user", "parts": [{"type": "file"}]}]}, "invalid_field", "parts[0].url"),
        ({"trigger": "resume"}, "invalid_field", "'resume'"),
        ({"model": "gpt"}, "unknown_field", "model"),
    ],
)
async def test_what_is_not_served_is_refused_by_name(
    refusing: Chats, fields: dict[str, Any], code: str, word: str
) -> None:
    chat = refusing.chat()
    chat.messages = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]

    status, problem = await chat.refused(**fields)

    assert (status, problem["code"]) == (400, code)
    assert word in problem["detail"]


@pytest.mark.behaviour("ai-sdk.read")
async def test_a_chat_is_read_with_files_and_without_one_is_empty(chats: Chats) -> None:
    chat = chats.chat()
    image = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo=", "filename": "a.png"}
    chat.messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "see"}, image]}]
    before = await chat.stored()
    answer = text_of(await chat.post())
    asked, said = await chat.stored()

    assert before == []
    assert asked == chat.messages[0]
    assert texts(said) == answer
    assert said["parts"][-1]["state"] == "done"


@pytest.mark.behaviour("ai-sdk.steering")
async def test_a_message_that_joins_a_run_is_shown_there_and_gets_its_answer() -> None:
    """A chat that is reloaded has it within the answer, and no answer of its own."""
    async with steered(["ai-sdk"]) as (http, working):

        async def run(message_id: str, text: str) -> list[Chunk]:
            message = {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}
            return chunks_of((await http.post("/api/ai-sdk/Joker", json={"id": "t", "messages": [message]})).text)

        chunks, joined = await both(http, working, run("u1", "first"), run("u2", "and this"))
        messages = (await http.get("/api/ai-sdk/Joker/t")).json()["messages"]

    (steering,) = [chunk for chunk in chunks if chunk["type"] == "steering-message"]
    assert steering["parts"] == [{"type": "text", "text": "and this"}]
    assert text_of(joined) == text_of(chunks)
    assert joined[0]["messageId"] != chunks[0]["messageId"]
    assert [message["id"] for message in messages] == ["u1", chunks[0]["messageId"]]
    assert steering in messages[-1]["parts"]


@pytest.mark.behaviour("ai-sdk.owners")
async def test_anothers_chat_is_neither_read_nor_followed() -> None:
    """It is an empty one to who knows its id; who is not signed in is refused."""
    chats = Chats(principal=signed_in)
    chat = chats.chat()
    chat.messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "my secret"}]}]
    await chats.http.post(chat.path, json=chat.body(), headers={"x-user": "ada"})
    who = ({"x-user": "ada"}, {"x-user": "bob"}, {})
    adas, bobs, nobodys = [await chats.http.get(f"{chat.path}/chat1", headers=each) for each in who]
    followed = await chats.http.get(f"{chat.path}/chat1/stream", headers={"x-user": "bob"})

    assert [message["id"] for message in adas.json()["messages"]][:1] == ["u1"]
    assert (bobs.json()["messages"], followed.status_code, nobodys.status_code) == ([], 204, 401)
