"""A tool that asks a person: the answer comes to its code, in a run that makes the call again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from agent_framework import Agent, tool

from hosting.app import AgentFunctionApp, Limit
from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient
from tests.support.made_app import app_of, ask, served
from tests.support.spender import Spender

THREAD = "/api/agents/Clerk/threads/t"
NOTES: list[str] = []


@dataclass
class Address:
    """What a tool asks for."""

    street: str
    number: int = 1


async def reserve(item: str) -> str:
    """Note it: once for each call."""
    NOTES.append(f"reserve {item}")
    return f"shelf of {item}"


@idempotent
@tool
async def ship(n: str) -> str:
    shelf = await current().step("reserve", reserve, n)
    NOTES.append(f"ship {n}")
    address = await current().ask(f"Where does {n} go?")
    return f"{n} from {shelf} to {address}"


@idempotent
@tool
async def deliver(n: str) -> str:
    try:
        address = await current().ask("Which address?", schema=Address)
        hour = await current().ask(f"When at {address.street}?", schema={"type": "integer", "minimum": 8})
    except Exception:
        return "swallowed"
    return f"{address.street} {address.number} at {hour}"


@tool
async def careless(n: str) -> str:
    return str(await current().ask("Really?"))


@idempotent
@tool
def blocking(n: str) -> str:
    try:
        current().ask("Really?")
    except LookupError as error:
        return str(error)
    return "asked"


@tool
def look(n: str) -> str:
    NOTES.append(f"look {n}")
    return f"saw {n}"


@idempotent
@tool(approval_mode="always_require")
async def refund(n: str) -> str:
    return f"refunded {n}: {await current().ask('Why?')}"


@idempotent
@tool
async def wavering(n: str) -> str:
    NOTES.append("wavering")
    return str(await current().ask(f"Question {len(NOTES)}?"))


TOOLS = [ship, deliver, careless, blocking, look, refund, wavering]


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    NOTES.clear()
    agent = Agent(ClerksClient(), name="Clerk", tools=TOOLS)
    async with served(AgentFunctionApp(agents=[agent], environ={"AGENT_LOG": "memory"})) as (_, http):
        yield http


async def say(http: httpx.AsyncClient, message: str) -> dict[str, Any]:
    """Send a message; return the answer."""
    answer = await http.post("/api/agents/Clerk/run", json={"message": message, "thread_id": "t"})
    return dict(answer.json())


async def give(http: httpx.AsyncClient, asked: dict[str, Any], value: object) -> dict[str, Any]:
    """Answer a question; return what comes of it."""
    return dict((await http.post(f"{THREAD}/approvals/{asked['id']}", json={"value": value})).json())


@pytest.mark.behaviour("asks.answered")
async def test_the_tool_gets_the_answer_and_the_model_its_result(http: httpx.AsyncClient) -> None:
    (asked,) = (await say(http, "call ship 5"))["pending_approvals"]
    end = await give(http, asked, "Elm Street 1")

    shown = {name: asked[name] for name in ("kind", "tool", "arguments", "question", "answer_schema")}
    assert shown == {
        "kind": "ask",
        "tool": "ship",
        "arguments": {"n": "5"},
        "question": "Where does 5 go?",
        "answer_schema": {"type": "string"},
    }
    assert end["response"] == "told: 5 from shelf of 5 to Elm Street 1"
    assert NOTES == ["reserve 5", "ship 5", "ship 5"]


@pytest.mark.behaviour("asks.checked")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"value": {"street": 5}}, "at $.street the rule 'type' is broken"),
        ({"approved": True}, "'deliver' waits for an answer. Send it as 'value'"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_with_its_place(
    http: httpx.AsyncClient, body: dict[str, Any], why: str
) -> None:
    (asked,) = (await say(http, "call deliver 5"))["pending_approvals"]

    refused = await http.post(f"{THREAD}/approvals/{asked['id']}", json=body)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert why in refused.json()["detail"]
    assert len((await http.get(f"{THREAD}/approvals")).json()["approvals"]) == 1


@pytest.mark.behaviour("asks.checked")
async def test_an_answer_is_given_to_no_other_question(http: httpx.AsyncClient) -> None:
    (asked,) = (await say(http, "call wavering 5"))["pending_approvals"]

    end = await give(http, asked, "yes")

    assert end["code"] == "run_diverged"
    assert "question 1 of tool 'wavering'" in end["detail"]


@pytest.mark.behaviour("asks.once")
async def test_of_many_answers_at_once_one_counts(http: httpx.AsyncClient) -> None:
    (asked,) = (await say(http, "call ship 5"))["pending_approvals"]

    answers = await asyncio.gather(*(give(http, asked, name) for name in "ABCD"))

    assert [answer.get("code") for answer in answers].count("approval_answered") == 3
    assert NOTES.count("ship 5") == 2


@pytest.mark.behaviour("asks.idempotent")
async def test_a_tool_that_may_not_be_called_again_may_not_ask(http: httpx.AsyncClient) -> None:
    end = await say(http, "call careless 5")

    assert end["code"] == "run_failed"
    assert "Tool 'careless' asks a person" in end["detail"]
    assert "Mark it @idempotent" in end["detail"]


@pytest.mark.behaviour("asks.idempotent")
async def test_a_synchronous_tool_learns_that_it_cannot_ask(http: httpx.AsyncClient) -> None:
    end = await say(http, "call blocking 5")

    assert end["response"].endswith("told: current().ask() needs an asynchronous tool. Make it 'async def'.")


@idempotent
@tool(name="step")
async def where() -> str:
    return str(await current().ask("Where to?"))


@pytest.mark.behaviour("asks.waits-free")
async def test_a_question_that_waits_takes_the_place_of_no_other_run() -> None:
    agent = Agent(Spender(), name="Joker", tools=[where])
    async with served(app_of(agent, limit=Limit(runs_at_once=1))) as (_, http):
        question = (await ask(http, "1", thread_id="t")).json()["pending_approvals"][0]["id"]

        other = await ask(http, "0", thread_id="u")
        answer = await http.post(f"/api/agents/Joker/threads/t/approvals/{question}", json={"value": "Paris"})

    assert (other.status_code, answer.json()["status"]) == (200, "success")
