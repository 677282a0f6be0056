"""`budget`, over HTTP: how much of its model a run or a thread may use (budgets.md)."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import (
    Agent,
    ContextProvider,
)

from hosting.app import Budget, Price, Principal
from hosting.errors import ConfigurationError
from hosting.options import Retry
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.made_app import app_of, ask, served
from tests.support.spender import CALLS, Spender, priced, spender, step

THREADS = "/api/agents/Joker/threads"
ADA = Principal("https://issuer.example", "ada")


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


async def today(http: httpx.AsyncClient) -> dict[str, Any]:
    return dict((await http.get("/api/agents/Joker/figures")).json()["days"][-1])


@pytest.mark.behaviour("http.budget")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_run_that_has_used_up_its_budget_ends_and_keeps_what_it_said(streamed: bool) -> None:
    """No model call begins then; the one that used it up is answered, and its tool was called."""
    async with served(app_of(spender(), budget=Budget(tokens=80))) as (_, http):
        refused = await ask(http, "5", thread_id="t", **({"stream": True} if streamed else {}))
        runs = (await http.get(f"{THREADS}/t/runs")).json()["runs"]
        entries = (await http.get(f"{THREADS}/t/messages")).json()["entries"]
        short = await ask(http, "1", thread_id="t")

    if not streamed:
        assert (refused.status_code, refused.json()["code"]) == (402, "budget_exceeded")
        assert refused.json()["budget"] == {"per": "run", "tokens": 80, "used_tokens": 80, "left_tokens": 0}
    assert (runs[0]["status"], runs[0]["code"]) == ("failed", "budget_exceeded")
    assert runs[0]["usage"] == {"input_token_count": 60, "output_token_count": 20, "total_token_count": 80}
    text = entries[1]["messages"][0]["contents"][0]["text"]
    assert (entries[1]["status"], "part 0" in text, "part 1" in text, "part 2" in text) == (
        "interrupted",
        True,
        True,
        False,
    )
    assert CALLS == ["5", "5", "1", "1"]
    assert short.status_code == 200


@pytest.mark.behaviour("http.budget")
async def test_all_runs_of_a_thread_share_its_budget() -> None:
    """Also what a run used that failed by it; another thread has a budget of its own, and so has the agent's option."""
    app = app_of(budget=Budget(tokens=1))
    app.add_agent(spender(), budget=Budget(tokens=100, per="thread"))
    async with served(app) as (_, http):
        first = await ask(http, "0", thread_id="t")
        second = await ask(http, "9", thread_id="t")
        shown = (await http.get(f"{THREADS}/t")).json()
        third = await ask(http, "0", thread_id="t")
        other = await ask(http, "0", thread_id="u")

    assert [first.status_code, second.status_code, third.status_code, other.status_code] == [200, 402, 402, 200]
    assert second.json()["budget"] == {"per": "thread", "tokens": 100, "used_tokens": 120, "left_tokens": 0}
    assert shown["budget"] == third.json()["budget"] == second.json()["budget"]
    assert CALLS == ["0", "9", "9", "0"]


class _FailingFirst(ContextProvider):
    """Fails after the model has answered, in the first attempts of a run."""

    def __init__(self, times: int) -> None:
        super().__init__("failing")
        self.times = times

    async def after_run(self, **given: Any) -> None:
        self.times -= 1
        if self.times >= 0:
            raise RuntimeError("The store of my own is away.")


@pytest.mark.behaviour("http.budget-retried")
@pytest.mark.parametrize("message", ["0", "1"], ids=["no step", "a step"])
@pytest.mark.parametrize("per", ["run", "thread"])
async def test_what_the_model_used_in_an_attempt_that_is_tried_again_counts(
    message: str, per: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its answer is dropped and asked for anew: both were paid. Whatever shows the run says so, its thread and day."""
    caplog.set_level(logging.INFO)
    model, prices = priced("small"), {"small": Price(input="100000", output="200000.10")}
    agent = Agent(client=model, name="Joker", tools=[step], context_providers=[_FailingFirst(2)])
    app = app_of(wires=["responses"], principal=lambda _: ADA)
    retry = Retry(attempts=3, first_pause_seconds=0)
    app.add_agent(agent, retry=retry, budget=Budget(tokens=500, cost=500, prices=prices, per=per))
    async with served(app) as (_, http):
        await ask(http, message, thread_id="t", stream=per == "thread")
        listed = (await http.get(f"{THREADS}/t/runs")).json()["runs"][0]
        run = (await http.get(f"{THREADS}/t/runs/{listed['run_id']}")).json()
        timeline = (await http.get(f"{THREADS}/t/runs/{listed['run_id']}/timeline")).json()
        thread = (await http.get(f"{THREADS}/t")).json()
        response = (await http.get(f"/api/openai/v1/responses/resp_{listed['run_id']}~joker~t")).json()
        day = await today(http)

    calls = 3 + int(message)
    cost = f"{5 * calls}.00000{calls}"
    assert (listed["status"], listed["attempts"], len(CALLS)) == ("success", 3, calls)
    budget = (run if per == "run" else thread)["budget"]
    assert (budget["used_tokens"], budget["used_cost"]) == (40 * calls, cost)
    assert run["cost"] == thread["cost"] == day["cost"] == cost
    assert {one["cost"] for one in timeline["steps"] if one["kind"] == "model_call"} == {"5.000001"}
    shown = [one["usage"]["total_token_count"] for one in (listed, run, timeline, thread, day)]
    assert [*shown, response["usage"]["total_tokens"]] == [40 * calls] * 6
    assert f"tokens in {30 * calls}, out {10 * calls}." in caplog.text
    assert sum(one["usage"]["total_token_count"] for one in timeline["steps"] if "usage" in one) == 40 * calls


class _Waiting(ContextProvider):
    """Waits after the model has answered."""

    def __init__(self) -> None:
        super().__init__("waiting")
        self.begun = threading.Event()

    async def after_run(self, **given: Any) -> None:
        self.begun.set()
        await asyncio.Event().wait()


@pytest.mark.behaviour("http.budget-retried")
async def test_what_a_process_used_of_a_run_that_it_hands_on_counts(tmp_path: Path) -> None:
    waiting, environ = _Waiting(), {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    agent = Agent(client=Spender(), name="Joker", tools=[step], context_providers=[waiting])
    apps = [app_of(one, budget=Budget(tokens=90, per="thread"), environ=environ) for one in (agent, spender())]
    async with served(apps[0]) as (_, http), served(apps[1]) as (_, other):
        asking = asyncio.ensure_future(ask(http, "0", thread_id="t"))
        assert await asyncio.to_thread(waiting.begun.wait, GUARD_SECONDS)
        await apps[0]._services.holders.drain(0.0)
        asking.cancel()
        thread, runs = [(await other.get(f"{THREADS}/t{which}")).json() for which in ("", "/runs")]
        (run,) = runs["runs"]
        timeline = (await other.get(f"{THREADS}/t/runs/{run['run_id']}/timeline")).json()

    assert (thread["budget"]["used_tokens"], run["status"]) == (40, "running")
    assert [one["usage"]["total_token_count"] for one in (thread, timeline, timeline["steps"][1])] == [40] * 3


@pytest.mark.behaviour("http.budget")
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda: Budget(tokens=0), "tokens of a Budget is '0'"),
        (lambda: Budget(tokens=True), "tokens of a Budget is 'True'"),
        (lambda: Budget(tokens=-5), "tokens of a Budget is '-5'. Give a whole number from 1 to 9,007,199,254,740,992."),
        (lambda: Budget(tokens=float("nan")), "tokens of a Budget is 'nan'"),  # type: ignore[arg-type]
        (lambda: Budget(tokens=5, per=["run"]), "per of a Budget is"),  # type: ignore[arg-type]
        (lambda: Budget(tokens=5, per="day"), "per of a Budget is 'day'. Give one of run, thread, owner/day."),  # type: ignore[arg-type]
        (lambda: app_of(spender(), budget=5), r"budget of agent 'Joker' is a int. Give Budget\(tokens=...\)"),
        (lambda: app_of(scripted_agent("Joker"), budget=Budget(tokens=5)), "its model calls cannot be counted"),
    ],
)
def test_a_budget_that_is_none_or_cannot_be_kept_is_refused_at_the_start(given: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        given()
