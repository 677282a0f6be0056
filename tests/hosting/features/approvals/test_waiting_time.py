"""What a run may use does not run out while a tool's question waits: two processes, and clocks that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest
from agent_framework import Agent, tool

import hosting.app
from hosting.app import Budget, Limit
from hosting.ports import Clocks
from hosting.tools import current, idempotent
from tests.support.made_app import app_of, ask, served
from tests.support.spender import USED, Spender

THREADS = "/api/agents/Joker/threads"
SECONDS = 60.0
DAYS = 5 * 86_400.0
TOKENS = USED["total_token_count"]


@idempotent
@tool(name="step")
async def where() -> str:
    return str(await current().ask("Where to?"))


@dataclass
class Times:
    """Both clocks of both processes."""

    passed: float = 0.0
    http: list[httpx.AsyncClient] = field(default_factory=list)

    def clocks(self) -> Clocks:
        return Clocks(wall=lambda: 1_767_261_600.0 + self.passed, awake=lambda: 1_000.0 + self.passed)


@pytest.fixture
async def times(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncIterator[Times]:
    """Two processes of an app whose runs take a minute at most, over one log and one engine."""
    times, hosts = Times(), []
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=times.clocks()))
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}", "AGENT_RUN_TIMEOUT_SECONDS": f"{SECONDS:g}"}
    async with AsyncExitStack() as stack:
        for _ in range(2):
            agent = Agent(Spender(), name="Joker", tools=[where])
            host, http = await stack.enter_async_context(served(app_of(agent, environ=environ, **request.param)))
            hosts.append(host)
            times.http.append(http)
        hosts[0].entities = hosts[1].entities
        yield times


async def asked(http: httpx.AsyncClient) -> str:
    """Send a message that makes the tool ask, and return where it is answered."""
    answer = (await ask(http, "1", thread_id="t")).json()
    return f"{THREADS}/t/approvals/{answer['pending_approvals'][0]['id']}"


@pytest.mark.behaviour("asks.waits-free")
@pytest.mark.parametrize("times", [{"budget": Budget(tokens=2 * TOKENS, per="thread")}], indirect=True)
async def test_a_threads_budget_has_after_days_what_it_had_when_the_question_was_asked(times: Times) -> None:
    question = await asked(times.http[0])
    before = (await times.http[1].get(f"{THREADS}/t")).json()["budget"]
    times.passed += DAYS
    waiting = (await times.http[1].get(f"{THREADS}/t")).json()["budget"]

    answer = (await times.http[1].post(question, json={"value": "Paris"})).json()
    refused = await ask(times.http[0], "0", thread_id="t")

    assert (before["left_tokens"], waiting) == (TOKENS, before)
    assert (answer["status"], answer["usage"]["total_token_count"]) == ("success", TOKENS)
    assert (refused.status_code, refused.json()["budget"]["used_tokens"]) == (402, 2 * TOKENS)


@pytest.mark.behaviour("asks.waits-free")
@pytest.mark.parametrize("times", [{"limit": Limit(runs_at_once=1)}], indirect=True)
async def test_a_question_that_waits_takes_the_place_of_no_other_run(times: Times) -> None:
    question = await asked(times.http[0])

    other = await ask(times.http[0], "0", thread_id="u")
    answer = (await times.http[0].post(question, json={"value": "Paris"})).json()

    assert (other.status_code, answer["status"]) == (200, "success")
