"""Tools of the caller: declared with a request, called by the model, answered with the next request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage

from tests.support.carriers import GUARD_SECONDS
from tests.support.chat_chunks import chunks, joined
from tests.support.openai_apps import CompletionsApp, said

SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}, "additionalProperties": False}
WHERE: Any = {
    "type": "function",
    "function": {"name": "where", "description": "Where the person is.", "parameters": SCHEMA, "strict": True},
}
NO_CALL = "which is no call of this app. Send the ids of its calls as they are."
pytestmark = pytest.mark.behaviour("chat.tools")


def result(call: Any, content: object = "here") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call if isinstance(call, str) else call.id, "content": content}


def as_sent(message: ChatCompletionMessage) -> dict[str, Any]:
    """Return an answer as clients send it back."""
    return dict(message.model_dump(exclude_unset=True))


async def asked(chats: CompletionsApp, message: str = "call where 1", **fields: Any) -> ChatCompletionMessage:
    """Return the answer to a message, which calls tools."""
    completion = await chats.create(message, model="Clerk", tools=[WHERE], **fields)
    assert completion.choices[0].finish_reason == "tool_calls"
    return completion.choices[0].message


async def test_openais_client_runs_its_tools_to_the_end_and_talks_on(open_chats: CompletionsApp) -> None:
    """One, several at once beside the agent's own, and a message behind them, whose model has all results.

    Each tool that is called is run, as the documentation of the client shows it.
    """
    messages, texts, create = list[Any](), list[str | None](), open_chats.openai.chat.completions.create
    for text in ("call where 1", "call where 2, look 3, where 4", "thanks"):
        messages.append(said("user", text))
        calls: Any = None
        while calls is None or calls:
            message = (await create(model="Clerk", messages=messages, tools=[WHERE])).choices[0].message
            messages.append(message)
            calls = message.tool_calls or []
            messages += [result(call, f"at {json.loads(call.function.arguments)['n']}") for call in calls]
        texts.append(message.content)

    assert texts == ["told: at 1", "told: at 2 | saw 3 | at 4", "echo: thanks"]
    assert open_chats.notes == ["look 3"]


async def test_a_stream_has_the_calls_by_index(open_chats: CompletionsApp) -> None:
    """The client's own accumulation of them is the answer; the run that goes on streams too."""
    async with open_chats.openai.chat.completions.stream(
        model="Clerk", messages=[{"role": "user", "content": "call where 1, where 2"}], tools=[WHERE]
    ) as stream:
        final = (await stream.get_final_completion()).choices[0]
    calls = final.message.tool_calls or []
    going_on = await open_chats.post(
        as_sent(final.message), *map(result, calls), model="Clerk", tools=[WHERE], stream=True
    )
    streamed = chunks(going_on.text)

    assert (final.finish_reason, [call.function.arguments for call in calls]) == (
        "tool_calls",
        ['{"n": "1"}', '{"n": "2"}'],
    )
    assert joined(streamed) == "told: here | here"
    assert streamed[-1].choices[0].finish_reason == "stop"


async def test_a_thread_of_no_name_waits_for_its_results_and_goes_with_its_last_answer(
    open_chats: CompletionsApp,
) -> None:
    """What is left of the call is refused then."""
    message = await asked(open_chats)
    await asyncio.wait_for(open_chats.host.entities.idle(), GUARD_SECONDS)
    (waiting,) = open_chats.host.entities.states
    answer = await open_chats.text(*map(result, message.tool_calls or ()), model="Clerk")

    assert (answer, waiting[:12]) == ("told: here", "@dafx-clerk@")
    assert list(open_chats.host.entities.states) == [waiting]


async def test_results_that_are_missing_or_unknown_are_refused_and_nothing_is_recorded(
    open_chats: CompletionsApp,
) -> None:
    """Each by its place, and the right ones go on after that."""
    first, second = (await asked(open_chats, "call where 1, where 2")).tool_calls or []
    other = f"call_{'0' * 32}~{first.id.partition('~')[2]}"
    refused = [
        await open_chats.refused("call where 1, where 2", *results, model="Clerk")
        for results in (
            [result(first)],
            [result(first), result(second), result(other)],
            [result(other)],
            [result(first), result(first)],
            [result(first), result("call_abc")],
            [result(first), result(f"call_{'0' * 32}~elsewhere")],
            [{"role": "tool", "content": "x"}],
            [result(first, [{"type": "image_url"}])],
        )
    ]

    assert [error["message"] for _, error in refused] == [
        f"The result of where ({second.id}) is missing. Send all results together.",
        "messages[3] is the result of no call that is open.",
        f"messages[1]: This thread has no approval '{'0' * 32}'.",
        "messages[2] is a second result of the same call. Send one.",
        f"messages[2].tool_call_id is 'call_abc', {NO_CALL}",
        "messages[2] is of another conversation than the result before it.",
        f"messages[1].tool_call_id is None, {NO_CALL}",
        "messages[1].content is neither a text nor a list of text. Send a text.",
    ]
    parts = [{"type": "text", "text": "he"}, {"type": "text", "text": "re"}]
    assert await open_chats.text(result(second, parts), result(first), model="Clerk") == "told: here | here"


CALLING = {"id": "a", "type": "function", "function": {"name": "where", "arguments": "{}"}}
NO_FUNCTION = {"id": "a", "type": "function"}


@pytest.mark.parametrize(
    ("messages", "tools", "said"),
    [
        (
            [{"role": "assistant", "tool_calls": [NO_FUNCTION]}, "and?"],
            [],
            "messages[0].tool_calls[0] is no call of a function with id, name and arguments.",
        ),
        ([result("a"), "and?"], [], "messages[0].tool_call_id is 'a', which is no open call before it."),
        ([{"role": "assistant", "tool_calls": [CALLING]}, "and?"], [], "messages[0].tool_calls[0] has no result."),
        (["hello"], [{"type": "custom"}], "tools[0] is of type 'custom'. Send functions; others are the agent's."),
        (["hello"], [{"type": "function"}], "tools[0].function is a JSON null. Send an object with 'name'"),
        (["hello"], [{"type": "function", "function": {"name": "look"}}], "tools[0].function.name is 'look', which is"),
    ],
)
async def test_what_no_model_takes_is_refused_by_its_place(
    open_chats: CompletionsApp, messages: list[Any], tools: list[Any], said: str
) -> None:
    """A call without its result, and what is no tool of a caller."""
    status, error = await open_chats.refused(*messages, model="Clerk", tools=tools)

    assert (status, error["message"][: len(said)]) == (400, said)
