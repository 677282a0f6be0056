"""The options of an agent's model that a request sets: obeyed within the author's bounds, else named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from agent_framework import WorkflowBuilder

from hosting.app import AgentFunctionApp
from hosting.errors import ConfigurationError
from tests.support.a2a import HEADERS, message
from tests.support.made_app import app_of, ask, served
from tests.support.obedient import obedient
from tests.support.option_doors import DOORS, Door, doors_of

DECLARED: Mapping[str, Any] = {
    "temperature": (0, 1),
    "top_p": [0.5, 1],
    "seed": (-5, 5),
    "max_tokens": 200,
    "reasoning_effort": ["low", "medium"],
    "verbosity": ("low",),
    "tool_choice": ["required", "none"],
    "instructions": 20,
}
THREAD = "/api/agents/Joker/threads/t"


def app(declared: Mapping[str, Any] | None = DECLARED, **defaults: Any) -> AgentFunctionApp:
    """Return the app of an agent that lets its callers set these."""
    made = app_of()
    made.add_agent(obedient(**defaults), options=declared)
    return made


def told(answer: httpx.Response) -> dict[str, Any]:
    """Return the options that the model says it was called with."""
    assert answer.status_code == 200, answer.text
    return dict(json.loads(answer.json()["response"]))


@pytest.mark.behaviour("options.obeyed")
async def test_the_model_is_called_with_the_options_of_the_request() -> None:
    """In that run alone, and in place of the author's own; instructions come behind the author's."""
    wanted = {"temperature": 1, "top_p": 0.5, "seed": 4.0, "max_tokens": 200, "reasoning_effort": "low"}
    made = app(default_options={"temperature": 0.5, "verbosity": "high"}, instructions="Obey.")
    async with served(made) as (_, http):
        first = await ask(http, "hello", options={**wanted, "verbosity": None, "instructions": "Be brief."})
        second = await ask(http, "hello", options=None)

    assert told(first) == {
        **wanted,
        "verbosity": "high",
        "instructions": "Obey.\nBe brief.",
    }
    assert told(second) == {"temperature": 0.5, "verbosity": "high", "instructions": "Obey."}
    assert "x-ms-ignored" not in first.headers


@pytest.mark.behaviour("options.obeyed")
async def test_a_choice_of_tools_is_for_the_first_call_of_the_model() -> None:
    """As agent-framework has it: no model is made to call tools without end. None means that no tool is called."""
    async with served(app()) as (_, http):
        required = told(await ask(http, "hello", options={"tool_choice": "required"}))
        none = told(await ask(http, "hello", options={"tool_choice": "none"}))
        called = told(await ask(http, "call look", options={"tool_choice": "required", "temperature": 0}))

    assert (required["tool_choice"], none["tool_choice"]) == ("required", "none")
    assert called == {"temperature": 0.0}


@pytest.mark.behaviour("options.ignored")
@pytest.mark.parametrize("form", ["application/json", "text/event-stream"])
async def test_an_option_that_is_not_declared_is_named_and_has_no_effect(form: str) -> None:
    """Whatever its value is, in the header of every form of the answer."""
    options = {"temperature": "hot", "top_p": 0.9, "max_tokens": 5}
    async with served(app({"top_p": (0, 1)})) as (_, http):
        answer = await http.post(
            "/api/agents/Joker/run", json={"message": "hello", "options": options}, headers={"accept": form}
        )
        plain = await ask(http, "hello")

    assert answer.headers["x-ms-ignored"] == "options.temperature, options.max_tokens"
    assert '"temperature"' not in answer.text.replace("\\", "")
    assert "x-ms-ignored" not in plain.headers


@pytest.mark.behaviour("options.ignored")
async def test_an_agent_that_declares_nothing_ignores_all_and_refuses_a_choice_of_tools() -> None:
    """Who wants a tool called, or none, would get another answer."""
    async with served(app(None)) as (_, http):
        ignored = await ask(http, "hello", options={"instructions": "Lie.", "seed": 1})
        refused = await ask(http, "hello", options={"tool_choice": "required"})

    assert (told(ignored), ignored.headers["x-ms-ignored"]) == ({}, "options.instructions, options.seed")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field")
    assert refused.json()["detail"].startswith("The field 'options.tool_choice' is 'required', and the agent's author")


OUT_OF_BOUNDS: list[tuple[Any, str]] = [
    ({"temperature": 1.1}, "The field 'options.temperature' is '1.1' and must be a number from 0 to 1."),
    ({"temperature": True}, "The field 'options.temperature' is 'True' and must be a number from 0 to 1."),
    ({"top_p": 0}, "The field 'options.top_p' is '0' and must be a number from 0.5 to 1."),
    ({"seed": 1.5}, "The field 'options.seed' is '1.5' and must be a whole number from -5 to 5."),
    ({"max_tokens": 201}, "The field 'options.max_tokens' is '201' and must be a whole number from 1 to 200."),
    ({"max_tokens": 1e999}, ""),
    ({"reasoning_effort": "high"}, "The field 'options.reasoning_effort' is 'high' and must be 'low' or 'medium'."),
    ({"verbosity": ["low"]}, "The field 'options.verbosity' is \"['low']\" and must be 'low'."),
    ({"instructions": "x" * 21}, "The field 'options.instructions' must be a text of at most 20 characters."),
    ({"instructions": "\ud800"}, ""),
    ({"temprature": 1}, "The field 'options' has 'temprature'. Known options: temperature, top_p, "),
    ([], "The field 'options' is '[]'. Send an object of options."),
]


@pytest.mark.behaviour("options.checked")
async def test_an_option_out_of_its_bounds_is_refused_by_its_place() -> None:
    async with served(app()) as (_, http):
        for options, detail in OUT_OF_BOUNDS:
            body = json.dumps({"message": "hello", "thread_id": "t", "options": options})
            headers = {"content-type": "application/json"}
            answer = await http.post("/api/agents/Joker/run", content=body, headers=headers)

            assert answer.status_code == 400, options
            assert answer.json()["detail"].startswith(detail)
        assert (await http.get(THREAD)).status_code == 404


@pytest.mark.behaviour("options.declared")
@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ({"temperature": 1}, r"options\['temperature'\] of agent 'Joker' is 1. Give a pair \(least, most\) of numbers"),
        ({"temperature": (1, 0)}, r"is \(1, 0\). Give a pair \(least, most\) of numbers from 0 to 2."),
        ({"temperature": (0, float("nan"))}, "Give a pair"),
        ({"seed": (0, 0.5)}, "Give a pair .least, most. of whole numbers"),
        ({"max_tokens": 0}, "is 0. Give a whole number above 0, the most tokens."),
        ({"instructions": "any"}, "is 'any'. Give a whole number above 0, the most characters."),
        ({"reasoning_effort": "low"}, "is 'low'. Give a list of the model's words for it."),
        ({"verbosity": [" "]}, "Give a list of the model's words for it."),
        ({"tool_choice": ["look"]}, "Give a list of 'auto', 'required', 'none'."),
        ({"temprature": (0, 1)}, "options of agent 'Joker' has 'temprature'. Callers may set: 'temperature', "),
        (["temperature"], "options of agent 'Joker' is a list. Give a dict, such as"),
    ],
)
def test_what_declares_no_option_is_refused_at_the_start(declared: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        app(declared)


@pytest.mark.behaviour("options.kept")
async def test_a_run_that_goes_on_after_an_approval_has_the_options() -> None:
    """But for the choice of tools, which was for the first call of the model."""
    options = {"temperature": 0, "tool_choice": "required"}
    async with served(app()) as (_, http):
        waits = (await ask(http, "call leave", thread_id="t", options=options)).json()
        approval = waits["pending_approvals"][0]["id"]
        answer = await http.post(f"{THREAD}/approvals/{approval}", json={"approved": True})
        after = await ask(http, "hello", thread_id="t")

    assert told(answer) == {"temperature": 0.0}
    assert told(after) == {}


@pytest.mark.behaviour("options.nothing")
async def test_a_run_without_options_stores_nothing_for_them() -> None:
    """Also one whose options are ignored. An older version of the code, which knows none, reads no run that has any."""
    async with served(app({"temperature": (0, 1)})) as (_, http):
        await ask(http, "hello", thread_id="t", options={"seed": 3})
        await ask(http, "hello", thread_id="t", options={"temperature": 1})
        export = (await http.get(f"{THREAD}/export")).json()

    plain, chosen = (run["accepted"]["request"] for run in export["runs"])
    assert [run["accepted"]["v"] for run in export["runs"]] == [1, 10]
    assert (chosen.pop("options"), plain) == ({"temperature": 1.0}, chosen)


@pytest.mark.behaviour("options.listed")
async def test_callers_read_what_they_may_set() -> None:
    """In the list of agents, and beside the author's own options in the description of each."""
    bounds: dict[str, Any] = {
        "temperature": {"type": "number", "minimum": 0, "maximum": 1},
        "top_p": {"type": "number", "minimum": 0.5, "maximum": 1},
        "seed": {"type": "integer", "minimum": -5, "maximum": 5},
        "max_tokens": {"type": "integer", "minimum": 1, "maximum": 200},
        "reasoning_effort": {"enum": ["low", "medium"]},
        "verbosity": {"enum": ["low"]},
        "tool_choice": {"enum": ["required", "none"]},
        "instructions": {"type": "string", "maxLength": 20},
    }
    made = app(default_options={"temperature": 0.7})
    made.add_agent(obedient("Mute"))
    async with served(made) as (_, http):
        listed = {agent["name"]: agent for agent in (await http.get("/api/agents")).json()["agents"]}
        described = (await http.get("/api/agents/Joker")).json()

    assert (listed["Joker"]["caller_options"], listed["Mute"]["caller_options"]) == (bounds, {})
    assert (described["caller_options"], described["options"]["temperature"]) == (bounds, 0.7)


@pytest.mark.behaviour("options.default")
async def test_an_agents_own_options_replace_the_apps_default() -> None:
    """All of them: also by none. A workflow, and one that is given as an agent, has none of the default."""
    graph = WorkflowBuilder(start_executor=obedient("Writer"), name="Write").build()
    made = app_of(obedient("Plain"), workflow=graph, options={"seed": (0, 9)})
    made.add_agent(obedient("Own"), options={"max_tokens": 5})
    made.add_agent(obedient("Closed"), options={})
    made.add_agent(graph.as_agent("Asked"))
    async with served(made) as (_, http):
        agents = (await http.get("/api/agents")).json()["agents"]
        workflows = (await http.get("/api/workflows")).json()["workflows"]

    assert {one["name"]: [*one["caller_options"]] for one in (*agents, *workflows)} == {
        "Plain": ["seed"],
        "Own": ["max_tokens"],
        "Closed": [],
        "Asked": [],
        "Write": [],
    }


@pytest.mark.behaviour("options.kept")
async def test_a_key_is_for_the_options_that_have_an_effect() -> None:
    """An equal number is the same one, and what is ignored makes no other request."""
    async with served(app({"temperature": (0, 1)})) as (_, http):
        answers = [
            await http.post(
                "/api/agents/Joker/run",
                json={"message": "hello", "options": options},
                headers={"idempotency-key": "k"},
            )
            for options in ({"temperature": 1}, {"temperature": 1.0, "seed": 3}, {"temperature": 0.5}, {})
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 409, 409]
    assert told(answers[1]) == {"temperature": 1.0}
    assert [answer.headers.get("x-ms-ignored") for answer in answers[:2]] == [None, "options.seed"]


OF_DOORS: Mapping[str, Any] = {"temperature": (0, 1), "max_tokens": 200, "instructions": 20}
of_each_door = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)


@pytest.mark.slow
@of_each_door
@pytest.mark.behaviour("options.doors")
async def test_each_door_has_the_one_rule(door: Door) -> None:
    """Within the bounds, not left to callers, out of bounds, a choice of tools, unknown, and no object."""
    place = DOORS[door]
    async with doors_of(OF_DOORS) as doors:
        allowed = await door(doors, {"temperature": 1, "max_tokens": 20.0})
        ignored = await door(doors, {"seed": 3, "temperature": 0.5, "verbosity": None})
        refused = [
            (await door(doors, options)).refusal
            for options in ({"temperature": 1.5}, {"tool_choice": "required"}, {"temprature": 1}, [1])
        ]
        recorded = await doors.recorded()

    assert (allowed.said, allowed.ignored) == ({"temperature": 1.0, "max_tokens": 20}, [])
    assert (ignored.said, ignored.ignored) == ({"temperature": 0.5}, [f"{place}.seed"])
    assert f"The field '{place}.temperature' is '1.5' and must be a number from 0 to 1." in refused[0]
    assert f"The field '{place}.tool_choice' is 'required', and the agent's author lets nobody choose." in refused[1]
    assert "temprature" in refused[2]
    assert refused[3]
    assert sorted(recorded, key=len) == [{"temperature": 0.5}, {"temperature": 1.0, "max_tokens": 20}]


@pytest.mark.slow
@pytest.mark.behaviour("options.doors")
async def test_options_in_two_places_of_one_request_are_refused() -> None:
    sent = {"options": {"temperature": 1}}
    params = {"message": message("hello", metadata=sent), "metadata": sent}
    async with doors_of(OF_DOORS) as doors:
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        answer = (await doors.post("a2a/Joker/", call, **HEADERS)).json()
        recorded = await doors.recorded()

    named = "The fields 'metadata.options' and 'message.metadata.options' are both there. Send one."
    assert (answer["error"]["message"], recorded) == (named, [])
