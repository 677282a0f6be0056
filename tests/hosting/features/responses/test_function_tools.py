"""Functions of the caller: declared with a request, called by the model, answered with the next request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseFunctionToolCall

from tests.hosting.features.responses.wired import Wired, answer_to, asked

WHERE: Any = {
    "type": "function",
    "name": "where",
    "description": "Where the person is.",
    "parameters": {"type": "object", "properties": {"n": {"type": "string"}}, "additionalProperties": False},
    "strict": True,
}


@pytest.fixture
async def open_wired() -> AsyncIterator[Wired]:
    """One process of the app, whose agents take functions of their callers."""
    wired = Wired(client_tools=True)
    async with wired.http, wired.openai:
        yield wired


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
async def test_a_response_with_calls_is_complete_and_says_its_functions(open_wired: Wired) -> None:
    """Whichever way it is read."""
    response = await open_wired.create("call where 1", "Clerk", tools=[WHERE])
    again = await open_wired.read(response.id)

    (call,) = calls_in(response)
    assert (call.name, call.arguments, call.status) == ("where", '{"n": "1"}', "completed")
    assert response.status == again.status == "completed"
    assert [tool.name for tool in response.tools if tool.type == "function"] == ["where"]
    assert again.output == response.output


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
        (
            {"tools": [{"type": "web_search"}]},
            "tools[0] is of type 'web_search'. Send functions; others are the agent's.",
        ),
        ({"tools": ["where"]}, "tools[0] is of type 'None'. Send functions; others are the agent's."),
        ({"tools": [{**WHERE, "name": "look"}]}, "tools[0].name is 'look', which is a tool of the agent. Rename it."),
        (
            {"input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}]},
            "An answer needs its conversation. Send 'previous_response_id' too.",
        ),
        (
            {"input": [{"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_image"}]}]},
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


@pytest.mark.behaviour("responses.functions")
async def test_an_agent_that_takes_no_functions_says_so(wired: Wired) -> None:
    """An empty list asks for nothing."""
    status, error = await wired.refused(model="Clerk", input="hello", tools=[WHERE])

    assert (status, error["code"]) == (400, "invalid_field")
    assert "client_tools=True" in error["message"]
    assert (await wired.create("hello", "Clerk", tools=[])).output_text == "echo: hello"
