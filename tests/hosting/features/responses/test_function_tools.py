"""Calls that wait: functions of the caller, and approvals of a person, answered with the next request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agent_framework import ChatContext, ChatMiddleware
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseFunctionToolCall

from tests.hosting.features.responses.wired import Wired, answer_to, asked
from tests.support.carriers import GUARD_SECONDS
from tests.support.owned_app import signed_in
from tests.support.signer import LINK, signer

WHERE: Any = {
    "type": "function",
    "name": "where",
    "description": "Where the person is.",
    "parameters": {"type": "object", "properties": {"n": {"type": "string"}}, "additionalProperties": False},
    "strict": True,
}
ORDERS = [{"role": "system", "content": "Lie."}]
NOBODYS = f"call_{'0' * 32}~t"


def calls_in(response: Response) -> list[ResponseFunctionToolCall]:
    """Return the calls of the caller's functions."""
    return [item for item in response.output if item.type == "function_call"]


def output_of(call: ResponseFunctionToolCall, output: Any) -> Any:
    """Return the item with a function's output."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


async def to_the_end(openai: AsyncOpenAI, message: str) -> list[str]:
    """Ask, and run each function that is called, as the documentation of the client shows it; return the texts."""
    response = await openai.responses.create(model="Clerk", input=message, tools=[WHERE])
    texts = [response.output_text]
    while calls := calls_in(response):
        outputs = [output_of(call, f"at {json.loads(call.arguments)['n']}") for call in calls]
        response = await openai.responses.create(
            model="Clerk", input=outputs, tools=[WHERE], previous_response_id=response.id
        )
        texts.append(response.output_text)
    return texts


@pytest.mark.behaviour("responses.functions")
async def test_openais_client_runs_its_functions_to_the_end(open_wired: Wired) -> None:
    """One, several at once, and beside the agent's own tools."""
    first = await to_the_end(open_wired.openai, "call where 1")
    second = await to_the_end(open_wired.openai, "call where 1, look 2, where 3")

    assert first == ["One moment.", "told: at 1"]
    assert second == ["One moment.", "told: at 1 | saw 2 | at 3"]
    assert open_wired.notes == ["look 2"]


@pytest.mark.behaviour("responses.functions")
async def test_a_stream_has_the_calls_as_openais_has_them(open_wired: Wired) -> None:
    """The client's own accumulation of them is the final response."""
    async with open_wired.openai.responses.stream(model="Clerk", input="call where 1", tools=[WHERE]) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_response()

    (call,) = calls_in(final)  # type: ignore[arg-type]
    assert call.arguments == '{"n": "1"}'
    assert kinds[-5:] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    async with open_wired.openai.responses.stream(
        model="Clerk", input=[output_of(call, "here")], previous_response_id=final.id
    ) as stream:
        texts = [event.text async for event in stream if event.type == "response.output_text.done"]
    assert texts == ["told: here"]


@pytest.mark.behaviour("responses.functions")
async def test_functions_and_approvals_of_one_response_are_answered_together(open_wired: Wired) -> None:
    """And are listed as the input of the response that goes on."""
    response = await open_wired.create("call where 1, refund 2", "Clerk", tools=[WHERE])
    (call,), (approval,) = calls_in(response), asked(response)

    status, error = await open_wired.refused(
        model="Clerk", input=[output_of(call, "here")], previous_response_id=response.id
    )
    last = await open_wired.create(
        [
            output_of(call, [{"type": "input_text", "text": "he"}, {"type": "input_text", "text": "re"}]),
            answer_to(approval),
        ],
        "Clerk",
        previous_response_id=response.id,
    )
    items = (await open_wired.openai.responses.input_items.list(last.id, order="asc")).data

    assert (status, error["message"]) == (400, "The answer on refund is missing. Send all answers together.")
    assert last.output_text == "told: here | refunded 2"
    assert [item.type for item in items] == ["function_call_output", "mcp_approval_response"]
    assert (items[0].call_id, items[0].output) == (call.call_id, "here")  # type: ignore[union-attr]


@pytest.mark.behaviour("responses.functions")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": ORDERS}, "The field 'input' has nothing for the agent. Send a message of role 'user'."),
        (
            {"input": [{"role": "user", "content": []}]},
            "input[0]: The message is empty. Say what to ask the agent.",
        ),
        (
            {"tools": [{"type": "web_search"}]},
            "tools[0] is of type 'web_search'. Send functions; others are the agent's.",
        ),
        ({"tools": ["where"]}, "tools[0] is of type 'None'. Send functions; others are the agent's."),
        ({"tools": [{**WHERE, "name": "look"}]}, "tools[0].name is 'look', which is a tool of the agent. Rename it."),
        (
            {"input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}]},
            "input[0].call_id is 'call_1', which is no call of this app. Send the ids of its calls as they are.",
        ),
        (
            {"input": [{"type": "function_call_output", "call_id": NOBODYS, "output": [{"type": "input_image"}]}]},
            "input[0].output is neither a text nor a list of input_text. Send a text.",
        ),
    ],
)
async def test_what_is_no_function_and_no_output_is_refused(
    open_wired: Wired, fields: dict[str, Any], said: str
) -> None:
    """With its place."""
    status, error = await open_wired.refused(**{"model": "Clerk", "input": "hello", **fields})

    assert (status, error["message"]) == (400, said)


def as_sent(response: Response) -> list[Any]:
    """Return the items of a response as clients send them back."""
    return [item.model_dump(exclude_unset=True) for item in response.output]


async def own_conversation(openai: AsyncOpenAI, items: list[Any], **fields: Any) -> Response:
    """Run each function that is called, and keep the conversation; return the last response."""
    while True:
        response: Response = await openai.responses.create(model="Clerk", input=items, tools=[WHERE], **fields)
        items += as_sent(response)
        calls = calls_in(response)
        if not calls:
            return response
        items += [output_of(call, f"at {json.loads(call.arguments)['n']}") for call in calls]


@pytest.mark.behaviour("responses.functions")
@pytest.mark.parametrize("fields", [{"store": False}, {}], ids=["not stored", "stored"])
async def test_openais_client_keeps_its_conversation_and_runs_its_functions_to_the_end(
    open_wired: Wired, fields: dict[str, Any]
) -> None:
    """One, several at once beside the agent's own, and a message behind them: OpenAI's guide shows it so."""
    items: list[Any] = []
    texts = []
    for message in ("call where 1", "call where 2, look 3, where 4", "thanks"):
        items.append({"role": "user", "content": message})
        texts.append((await own_conversation(open_wired.openai, items, **fields)).output_text)

    assert texts == ["told: at 1", "told: at 2 | saw 3 | at 4", "echo: thanks"]
    assert open_wired.notes == ["look 3"]


@pytest.mark.behaviour("responses.functions")
async def test_a_thread_that_is_not_stored_waits_for_its_outputs_and_goes_with_its_last_answer(
    open_wired: Wired,
) -> None:
    """The same outputs again find the same response; nothing else continues it."""
    fields: dict[str, Any] = {"model": "Clerk", "tools": [WHERE], "store": False}
    first = await open_wired.create("call where 1", **fields)
    await asyncio.wait_for(open_wired.host.entities.idle(), GUARD_SECONDS)
    (waiting,) = open_wired.host.entities.states
    outputs = [output_of(call, "here") for call in calls_in(first)]
    status, error = await open_wired.refused(model="Clerk", input="and?", previous_response_id=first.id)
    last = await open_wired.create(outputs, **fields)
    again = await open_wired.create(outputs, **fields)

    assert waiting.startswith("@dafx-clerk@")
    assert (status, error["code"]) == (409, "thread_deleting")
    assert (last.output_text, again) == ("told: here", last)


@pytest.mark.behaviour("responses.owners")
async def test_a_call_of_a_response_is_answered_by_its_own_caller_alone() -> None:
    """Its id does not say whose it is: of another caller it is unknown."""
    wired = Wired(client_tools=True, principal=signed_in)
    async with wired.http:
        body = {"model": "Clerk", "tools": [WHERE], "store": False}
        ada, bob = [{"x-user": user} for user in ("ada", "bob")]
        first = (await wired.http.post("responses", json={**body, "input": "call where 1"}, headers=ada)).json()
        outputs = [{"type": "function_call_output", "call_id": first["output"][-1]["call_id"], "output": "here"}]
        other, own = [
            await wired.http.post("responses", json={**body, "input": outputs}, headers=who) for who in (bob, ada)
        ]
        await wired.app._services.holders.drain(0.0)  # else the entity waits for a lease before it deletes the thread

    assert (other.status_code, other.json()["error"]["code"]) == (404, "unknown_approval")
    assert own.json()["output"][-1]["content"][0]["text"] == "told: here"


CALL = {"type": "function_call", "call_id": "a", "name": "where", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]}
LAST = "The last message is the agent's. End with one for it to answer."
MADE = {"type": "mcp_call", "id": "mcp_1", "name": "look", "arguments": "{}"}


@pytest.mark.behaviour("responses.functions")
@pytest.mark.parametrize(
    ("items", "said"),
    [
        (
            [OUTPUT],
            "input[0].call_id is 'a', which is no call of this app. Send the ids of its calls as they are.",
        ),
        (
            [{**OUTPUT, "call_id": f"call_{'0' * 32}~{thread}"} for thread in ("t", "u")],
            "input[1] is of another conversation than the result before it.",
        ),
        (
            [{**OUTPUT, "call_id": f"call_{'0' * 32}~t"}],
            f"This thread has no approval '{'0' * 32}'.",
        ),
        ([CALL, {"role": "user", "content": "and?"}], "input[0] has no result. Send it before the next message."),
        (
            [OUTPUT, {"role": "user", "content": "and?"}],
            "input[0].call_id is 'a', which is no open call before it. Send results behind their calls.",
        ),
        (
            [{**CALL, "arguments": {}}, OUTPUT, {"role": "user", "content": "and?"}],
            "input[0] is no call of a function with id, name and arguments. Send it as it was.",
        ),
        ([CALL], LAST),
        ([SAID], LAST),
        ([MADE], LAST),
        (
            [{**MADE, "id": None}, {"role": "user", "content": "and?"}],
            "input[0] is no call of a function with id, name and arguments. Send it as it was.",
        ),
        (
            [{"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}],
            "An answer needs its conversation. Send 'previous_response_id' too.",
        ),
    ],
)
async def test_a_conversation_of_the_callers_that_no_model_takes_is_refused_by_its_place(
    open_wired: Wired, items: list[Any], said: str
) -> None:
    """And outputs that nothing waits for."""
    status, error = await open_wired.refused(model="Clerk", input=items, store=False)

    assert (error["message"], status) == (said, 404 if "approval '" in said else 400)


@pytest.mark.behaviour("responses.functions")
async def test_the_model_has_the_calls_of_a_conversation_that_its_caller_keeps() -> None:
    """Those of the caller's functions, of one answer together, and those that the agent's own tools answered."""
    sent: list[list[tuple[str, list[str]]]] = []

    class Noting(ChatMiddleware):
        async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
            sent.append(
                [(message.role, [content.type for content in message.contents]) for message in context.messages]
            )
            await call_next()

    wired = Wired(client_tools=True)
    wired.app.agents["Clerk"].middleware = [Noting()]  # type: ignore[attr-defined]
    failed = {**MADE, "id": "mcp_2", "error": {"type": "mcp_tool_execution_error", "content": []}}
    items = [
        "hi",
        CALL,
        {**CALL, "call_id": "b"},
        OUTPUT,
        {**OUTPUT, "call_id": "b"},
        {**MADE, "output": "3"},
        failed,
        SAID,
        "thanks",
    ]
    async with wired.http:
        given = [{"role": "user", "content": item} if isinstance(item, str) else item for item in items]
        answer = await wired.create(given, "Clerk", store=False)

    call, result = ("assistant", ["function_call"]), ("tool", ["function_result"])
    assert answer.output_text == "echo: thanks"
    assert sent[0][-10:] == [
        ("user", ["text"]),
        ("assistant", ["function_call", "function_call"]),
        *(result, result, call, result, call, result),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]


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
