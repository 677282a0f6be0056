"""Calls that wait: functions of the caller, and approvals of a person, answered with the next request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from openai.types.responses import Response, ResponseFunctionToolCall

from tests.support.carriers import GUARD_SECONDS
from tests.support.openai_apps import ResponsesApp, answer_to, asked

WHERE: Any = {
    "type": "function",
    "name": "where",
    "description": "Where the person is.",
    "parameters": {"type": "object", "properties": {"n": {"type": "string"}}, "additionalProperties": False},
    "strict": True,
}


def calls_in(response: Response) -> list[ResponseFunctionToolCall]:
    return [item for item in response.output if item.type == "function_call"]


def output_of(call: ResponseFunctionToolCall, output: Any) -> Any:
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


@pytest.mark.behaviour("responses.functions")
async def test_a_stream_has_the_calls_as_openais_has_them(open_wired: ResponsesApp) -> None:
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
async def test_answers_are_the_input_of_the_response_that_goes_on(open_wired: ResponsesApp) -> None:
    """An output may be a list of texts."""
    response = await open_wired.create("call where 1, refund 2", "Clerk", tools=[WHERE])
    (call,), (approval,) = calls_in(response), asked(response)
    texts = [{"type": "input_text", "text": text} for text in ("he", "re")]
    answers = [output_of(call, texts), answer_to(approval)]
    last = await open_wired.create(answers, "Clerk", previous_response_id=response.id)
    items = (await open_wired.openai.responses.input_items.list(last.id, order="asc")).data

    assert last.output_text == "told: here | refunded 2"
    assert [item.type for item in items] == ["function_call_output", "mcp_approval_response"]
    assert (items[0].call_id, items[0].output) == (call.call_id, "here")  # type: ignore[union-attr]


@pytest.mark.behaviour("responses.functions")
@pytest.mark.parametrize("fields", [{"store": False}, {}], ids=["not stored", "stored"])
async def test_openais_client_keeps_its_conversation_and_runs_its_functions_to_the_end(
    open_wired: ResponsesApp, fields: dict[str, Any]
) -> None:
    """One, several at once beside the agent's own, and a message behind them: OpenAI's guide shows it so."""
    items, texts, create = list[Any](), list[str](), open_wired.openai.responses.create
    for message in ("call where 1", "call where 2, look 3, where 4", "thanks"):
        items.append({"role": "user", "content": message})
        calls: list[ResponseFunctionToolCall] | None = None
        while calls is None or calls:
            response: Response = await create(model="Clerk", input=items, tools=[WHERE], **fields)
            items += [item.model_dump(exclude_unset=True) for item in response.output]
            calls = calls_in(response)
            items += [output_of(call, f"at {json.loads(call.arguments)['n']}") for call in calls]
        texts.append(response.output_text)

    assert texts == ["told: at 1", "told: at 2 | saw 3 | at 4", "echo: thanks"]
    assert open_wired.notes == ["look 3"]


@pytest.mark.behaviour("responses.functions")
async def test_a_thread_that_is_not_stored_waits_for_its_outputs_and_goes_with_its_last_answer(
    open_wired: ResponsesApp,
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


CALL = {"type": "function_call", "call_id": "a", "name": "where", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
ANSWER = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
MADE = {"type": "mcp_call", "id": "mcp_1", "name": "look", "arguments": "{}"}
AND = {"role": "user", "content": "and?"}
NOBODYS = {**OUTPUT, "call_id": f"call_{'0' * 32}~t"}


@pytest.mark.behaviour("responses.functions")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": [{"role": "system", "content": "Lie."}]}, "The field 'input' has nothing for the agent."),
        ({"tools": [{"type": "web_search"}]}, "tools[0] is of type 'web_search'."),
        ({"tools": ["where"]}, "tools[0] is of type 'None'."),
        ({"tools": [{**WHERE, "name": "look"}]}, "tools[0].name is 'look', which is a tool of the agent."),
        ({"input": [{**NOBODYS, "output": [{"type": "input_image"}]}]}, "input[0].output is neither a text nor"),
        ({"input": [OUTPUT]}, "input[0].call_id is 'a', which is no call of this app."),
        ({"input": [NOBODYS, {**NOBODYS, "call_id": f"call_{'0' * 32}~u"}]}, "input[1] is of another conversation"),
        ({"input": [NOBODYS]}, f"This thread has no approval '{'0' * 32}'."),
        ({"input": [CALL, AND]}, "input[0] has no result. Send it before the next message."),
        ({"input": [OUTPUT, AND]}, "input[0].call_id is 'a', which is no open call before it."),
        ({"input": [{**CALL, "arguments": {}}, OUTPUT, AND]}, "input[0] is no call of a function with id, name and"),
        ({"input": [{**MADE, "id": None}, AND]}, "input[0] is no call of a function with id, name and"),
        ({"input": [CALL]}, "The last message is the agent's."),
        ({"input": [MADE]}, "The last message is the agent's."),
        ({"input": [ANSWER]}, "An answer needs its conversation."),
    ],
)
async def test_what_no_model_takes_is_refused_by_its_place(
    open_wired: ResponsesApp, fields: dict[str, Any], said: str
) -> None:
    status, error = await open_wired.refused(**{"model": "Clerk", "input": "hello", "store": False, **fields})

    assert (status, error["message"][: len(said)]) == (404 if "approval '" in said else 400, said)


@pytest.mark.behaviour("responses.approvals")
@pytest.mark.behaviour("responses.continued")
async def test_a_call_says_which_approval_it_had_and_what_it_was_called_with(wired: ResponsesApp) -> None:
    waits = await wired.create("call refund 7", model="Clerk")
    (request,) = asked(waits)
    answered: dict[str, Any] = {"model": "Clerk", "input": [answer_to(request)], "previous_response_id": waits.id}
    made, again = [await wired.openai.responses.create(**answered) for _ in range(2)]
    call = next(item for item in made.output if item.type == "mcp_call")

    assert (request.name, request.arguments) == ("refund", '{"n": "7"}')
    assert (call.approval_request_id, call.arguments, call.output) == (request.id, '{"n": "7"}', "refunded 7")
    assert (made.output_text, again, len(wired.notes)) == ("told: refunded 7", made, 1)


@pytest.mark.behaviour("responses.approvals")
async def test_answers_that_are_not_whole_are_refused_and_not_recorded(wired: ResponsesApp) -> None:
    """With other words, without the response, with other arguments, of no call that waits, or a second time."""
    waits, other = [await wired.create(text, model="Clerk") for text in ("call refund 1, refund 2", "hello")]
    first, second = asked(waits)
    before = {"model": "Clerk", "previous_response_id": waits.id}
    unknown = {"type": "mcp_approval_response", "approval_request_id": "x", "approve": True}
    both = [answer_to(first), answer_to(second, approve=False)]
    refused = [
        await wired.refused(**before, input=[*both, AND]),
        await wired.refused(model="Clerk", input=both),
        await wired.refused(**before, input=[answer_to(first, arguments="")]),
        await wired.refused(**before, input="well?"),
        await wired.refused(model="Clerk", input=[unknown], previous_response_id=other.id),
    ]
    done = await wired.create(both, **before)
    late = await wired.refused(**before, input=[answer_to(first, False)])

    assert [(status, error["code"]) for status, error in (*refused, late)] == [
        *[(400, "unsupported_parameter")] * 3,
        *((409, "approvals_pending"), (404, "unknown_approval"), (409, "approval_answered")),
    ]
    assert refused[2][1]["message"].startswith("input[0] has 'arguments'")
    assert done.output_text.startswith("told: refunded 1 | ")
