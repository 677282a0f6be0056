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
