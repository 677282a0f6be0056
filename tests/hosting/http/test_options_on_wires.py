"""The options of an agent's model that a request sets, by the names that each of OpenAI's protocols has for them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from tests.support.made_app import app_of, served
from tests.support.openai_wires import Wires

DECLARED: Mapping[str, Any] = {
    "temperature": (0, 1),
    "top_p": (0, 1),
    "max_tokens": 200,
    "reasoning_effort": ["low", "medium"],
    "verbosity": ["low"],
    "tool_choice": ["required", "none"],
    "instructions": 20,
}
OBEYED = {
    "temperature": 0.0,
    "top_p": 0.5,
    "max_tokens": 5,
    "reasoning_effort": "low",
    "verbosity": "low",
    "tool_choice": "required",
}


@pytest.fixture
async def wires(request: pytest.FixtureRequest) -> AsyncIterator[Wires]:
    """The app whose agent declares options, or these."""
    made = Wires(getattr(request, "param", DECLARED))
    async with made.http:
        yield made


@pytest.mark.behaviour("options.obeyed")
async def test_the_official_clients_options_are_the_models(wires: Wires) -> None:
    made = await wires.openai.responses.create(
        model="Joker",
        input="hello",
        temperature=0,
        top_p=0.5,
        max_output_tokens=5,
        reasoning={"effort": "low"},
        text={"verbosity": "low"},
        tool_choice="required",
        instructions="Be brief.",
    )
    completion = await wires.chat.chat.completions.create(
        model="Joker",
        messages=[{"role": "user", "content": "hello"}],
        temperature=0,
        top_p=0.5,
        max_completion_tokens=5,
        reasoning_effort="low",
        verbosity="low",
        tool_choice="required",
    )
    read = await wires.openai.responses.retrieve(made.id)

    assert json.loads(made.output_text) == {**OBEYED, "instructions": "Be brief."}
    assert json.loads(completion.choices[0].message.content or "") == OBEYED
    for shown in (made, read):
        assert (shown.temperature, shown.top_p, shown.max_output_tokens) == (0, 0.5, 5)
        assert (shown.instructions, shown.tool_choice, shown.metadata) == ("Be brief.", "required", {})


@pytest.mark.behaviour("options.obeyed")
async def test_the_official_clients_older_word_for_tokens_is_the_models(wires: Wires) -> None:
    completion = await wires.chat.chat.completions.create(
        model="Joker", messages=[{"role": "user", "content": "hello"}], max_tokens=5
    )

    assert json.loads(completion.choices[0].message.content or "") == {"max_tokens": 5}


@pytest.mark.behaviour("options.checked")
async def test_an_option_out_of_its_bounds_is_refused_by_the_protocols_name(wires: Wires) -> None:
    answers = [
        await wires.respond(max_output_tokens=201),
        await wires.respond(reasoning={"effort": "high"}),
        await wires.respond(reasoning="high"),
        await wires.respond(text={"verbosity": "high"}),
        await wires.respond(tool_choice={"type": "function", "name": "look"}),
        await wires.complete(temperature=1.5),
        await wires.complete(max_completion_tokens=5, max_tokens=6),
        await wires.complete(tool_choice="any"),
    ]

    assert {answer.status_code for answer in answers} == {400}
    assert [answer.json()["error"]["message"] for answer in answers] == [
        "The field 'max_output_tokens' is '201' and must be a whole number from 1 to 200.",
        "The field 'reasoning.effort' is 'high' and must be 'low' or 'medium'.",
        "The field 'reasoning' is a JSON string. Send an object.",
        "The field 'text.verbosity' is 'high' and must be 'low'.",
        "A choice of tools names 'look', which is no function of the request's own 'tools'. The agent's tools are its "
        "model's to choose.",
        "The field 'temperature' is '1.5' and must be a number from 0 to 1.",
        "The field 'max_tokens' has another value than the other field for it. Send one.",
        "The model chooses its tools. Send 'auto' or 'none', or leave it out.",
    ]


@pytest.mark.behaviour("options.obeyed")
async def test_the_effort_of_reasoning_reaches_a_model_behind_openais_responses(wires: Wires) -> None:
    """agent-framework's client of it takes an object, and has no other name for the effort."""
    client = OpenAIChatClient(model="Joker", async_client=wires.openai)
    own_options: Any = {"reasoning": {"effort": "medium"}, "store": False}
    thinks = Agent(client, name="Thinks", default_options=own_options)
    app = app_of()
    app.add_agent(thinks, options={"reasoning_effort": ["low", "medium"], "verbosity": ["low"]})
    async with served(app) as (_, http):
        path, options = "/api/agents/Thinks/run", {"reasoning_effort": "low", "verbosity": "low"}
        chosen = await http.post(path, json={"message": "hello", "options": options})
        own = await http.post(path, json={"message": "hello"})

    assert [json.loads(answer.json()["response"]) for answer in (chosen, own)] == [
        options,
        {"reasoning_effort": "medium"},
    ]


SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}}
FLAT: Any = [{"type": "function", "name": name, "parameters": SCHEMA} for name in ("where", "when")]
NESTED: Any = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("where", "when")]
NOT_OWN = "which is no function of the request's own 'tools'. The agent's tools are its model's to choose."
NO_FORM = "A choice of tools is a word, a function of the request's own 'tools', or some of those."
WORDS = "The model chooses its tools. Send 'auto' or 'none', or leave it out."


@pytest.fixture
async def own_tools() -> AsyncIterator[Wires]:
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
async def test_a_named_function_of_the_caller_is_called(own_tools: Wires) -> None:
    """Over both protocols, by the official client; the response says the choice again."""
    flat, nested = named("when")
    made = await own_tools.openai.responses.create(model="Joker", input='{"n": "1"}', tools=FLAT, tool_choice=flat)
    completion = await own_tools.chat.chat.completions.create(
        model="Joker", messages=[{"role": "user", "content": '{"n": "2"}'}], tools=NESTED, tool_choice=nested
    )
    call: Any = made.output[0]
    (nested_call,) = completion.choices[0].message.tool_calls or ()

    assert (call.name, json.loads(call.arguments)) == ("when", {"n": "1"})
    assert made.tool_choice.model_dump() == flat  # type: ignore[union-attr]
    assert nested_call.type == "function"
    assert (nested_call.function.name, json.loads(nested_call.function.arguments)) == ("when", {"n": "2"})


@pytest.mark.behaviour("options.own-tools")
async def test_the_official_client_leaves_some_functions_and_one_call_at_a_time(own_tools: Wires) -> None:
    flat, nested = some("required", "when")
    made = await own_tools.openai.responses.create(
        model="Joker", input="hello", tools=FLAT, tool_choice=flat, parallel_tool_calls=False
    )
    completion = await own_tools.chat.chat.completions.create(
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
    own_tools: Wires, choice: tuple[Any, Any], said: str | None
) -> None:
    """The agent's own tools are its model's to choose; nothing is stored."""
    flat, nested = choice
    answers = [
        await own_tools.respond(tools=FLAT, tool_choice=flat),
        await own_tools.complete(tools=NESTED, tool_choice=nested),
    ]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert [answer.json()["error"]["param"] for answer in answers] == ["tool_choice"] * 2
    if said is not None:
        assert [answer.json()["error"]["message"] for answer in answers] == [said] * 2


@pytest.mark.behaviour("options.own-tools")
async def test_without_tools_of_the_caller_none_is_to_be_called(own_tools: Wires) -> None:
    answers = [await own_tools.respond(tool_choice=choice) for choice in (named("look")[0], "required")]

    assert [answer.json()["error"]["code"] for answer in answers] == ["unsupported_parameter"] * 2
