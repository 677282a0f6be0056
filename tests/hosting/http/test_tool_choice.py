"""The choice of tools in a request of OpenAI's protocols: callers choose among their own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.openai_wires import Wires

SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}}
FLAT: Any = [{"type": "function", "name": name, "parameters": SCHEMA} for name in ("where", "when")]
NESTED: Any = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("where", "when")]
NOT_OWN = "which is no function of the request's own 'tools'. The agent's tools are its model's to choose."
NO_FORM = "A choice of tools is a word, a function of the request's own 'tools', or some of those."
WORDS = "The model chooses its tools. Send 'auto' or 'none', or leave it out."


@pytest.fixture
async def wires() -> AsyncIterator[Wires]:
    """An app whose agents take tools of their callers, and declare no options."""
    made = Wires(None, client_tools=True)
    async with made.http:
        yield made


def named(name: object) -> tuple[Any, Any]:
    """Return the choice of a function as Responses and as Chat Completions have it."""
    return {"type": "function", "name": name}, {"type": "function", "function": {"name": name}}


def some(mode: str, *names: str) -> tuple[Any, Any]:
    """Return the choice of some functions as Responses and as Chat Completions have it."""
    flat, nested = ([named(name)[form] for name in names] for form in (0, 1))
    return (
        {"type": "allowed_tools", "mode": mode, "tools": flat},
        {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": nested}},
    )


@pytest.mark.behaviour("options.own-tools")
async def test_a_named_function_of_the_caller_is_called(wires: Wires) -> None:
    """Over both protocols, by the official client; the response says the choice again."""
    flat, nested = named("when")
    made = await wires.openai.responses.create(model="Joker", input='{"n": "1"}', tools=FLAT, tool_choice=flat)
    completion = await wires.chat.chat.completions.create(
        model="Joker", messages=[{"role": "user", "content": '{"n": "2"}'}], tools=NESTED, tool_choice=nested
    )
    call: Any = made.output[0]
    (nested_call,) = completion.choices[0].message.tool_calls or ()

    assert (call.name, json.loads(call.arguments)) == ("when", {"n": "1"})
    assert made.tool_choice.model_dump() == flat  # type: ignore[union-attr]
    assert nested_call.type == "function"
    assert (nested_call.function.name, json.loads(nested_call.function.arguments)) == ("when", {"n": "2"})


@pytest.mark.behaviour("options.own-tools")
async def test_the_official_client_leaves_some_functions_and_one_call_at_a_time(wires: Wires) -> None:
    flat, nested = some("required", "when")
    made = await wires.openai.responses.create(
        model="Joker", input="hello", tools=FLAT, tool_choice=flat, parallel_tool_calls=False
    )
    completion = await wires.chat.chat.completions.create(
        model="Joker",
        messages=[{"role": "user", "content": "hello"}],
        tools=NESTED,
        tool_choice=nested,
        parallel_tool_calls=False,
    )

    obeyed = {"tool_choice": "required", "allow_multiple_tool_calls": False}
    assert [tool.name for tool in made.tools if tool.type == "function"] == ["when"]
    assert json.loads(made.output_text) == obeyed
    assert json.loads(completion.choices[0].message.content or "") == obeyed


@pytest.mark.behaviour("options.own-tools")
@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (named("look"), f"A choice of tools names 'look', {NOT_OWN}"),
        (named(None), f"A choice of tools names None, {NOT_OWN}"),
        (some("auto", "where", "look"), f"A choice of tools names 'look', {NOT_OWN}"),
        (some("auto"), f"A choice of tools names None, {NOT_OWN}"),
        (some("never", "where"), WORDS),
        (({"type": "allowed_tools", "tools": 1},) * 2, None),
        (({"type": "mcp", "server_label": "x"},) * 2, NO_FORM),
        (({},) * 2, NO_FORM),
        ((7,) * 2, NO_FORM),
        (("any",) * 2, WORDS),
    ],
)
async def test_a_choice_of_what_is_not_the_callers_is_refused(
    wires: Wires, choice: tuple[Any, Any], said: str | None
) -> None:
    """The agent's own tools are its model's to choose; nothing is stored."""
    flat, nested = choice
    answers = [
        await wires.respond(tools=FLAT, tool_choice=flat),
        await wires.complete(tools=NESTED, tool_choice=nested),
    ]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert [answer.json()["error"]["param"] for answer in answers] == ["tool_choice"] * 2
    if said is not None:
        assert [answer.json()["error"]["message"] for answer in answers] == [said] * 2


@pytest.mark.behaviour("options.own-tools")
async def test_without_tools_of_the_caller_none_is_to_be_called(wires: Wires) -> None:
    answers = [await wires.respond(tool_choice=choice) for choice in (named("look")[0], "required")]

    assert [answer.json()["error"]["code"] for answer in answers] == ["unsupported_parameter"] * 2
