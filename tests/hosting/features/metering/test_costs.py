"""What model calls cost: by the app's prices, cut short, and with tokens of a cache and of reasoning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentExecutor,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    Workflow,
    WorkflowBuilder,
)

from hosting.app import Budget, Price, Principal
from hosting.errors import ConfigurationError
from hosting.options import Retry
from tests.support.carriers import GUARD_SECONDS
from tests.support.made_app import app_of, ask, served
from tests.support.spender import CALLS, priced, spender
from tests.support.thinker import thinker

ADA = Principal("https://issuer.example", "ada")
THREADS = "/api/agents/Joker/threads"
A_CALL = {"small": Price(input="100000", output="200000.10")}
"""30 tokens read and 10 written cost 5.000001 together."""


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


@pytest.mark.behaviour("http.cost")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_run_that_cost_its_budget_makes_no_model_call_more(streamed: bool) -> None:
    app = app_of(spender(client=priced("small")), budget=Budget(cost=10, prices=A_CALL), principal=lambda _: ADA)
    async with served(app) as (_, http):
        refused = await ask(http, "5", thread_id="t", **({"stream": True} if streamed else {}))
        answered = await ask(http, "0", thread_id="t")
        runs = (await http.get(f"{THREADS}/t/runs")).json()["runs"]
        steps = (await http.get(f"{THREADS}/t/runs/{runs[0]['run_id']}/timeline")).json()["steps"]
        shown = (await http.get(f"{THREADS}/t")).json()
        days = (await http.get("/api/agents/Joker/figures")).json()["days"]

    if not streamed:
        assert (refused.status_code, refused.json()["code"]) == (402, "budget_exceeded")
        assert refused.json()["budget"] == {"per": "run", "cost": "10", "used_cost": "10.000002", "left_cost": "0"}
    assert [run.get("cost") for run in runs] == ["5.000001", "10.000002"]
    assert [(step["model"], step["cost"]) for step in steps if step["kind"] == "model_call"] == [
        ("small-2026-01-01", "5.000001")
    ]
    assert (answered.json()["cost"], shown["cost"], days[-1]["cost"]) == ("5.000001", "15.000003", "15.000003")
    assert CALLS == ["5", "5", "0"]


@pytest.mark.behaviour("http.cost")
@pytest.mark.parametrize(
    ("price", "used", "cost"),
    [
        (Price(input=1, output=0, cached="0.1"), {"cache_read_input_token_count": 20}, "0.000012"),
        (Price(input=1, output=0), {"cache_read_input_token_count": 20}, "0.00003"),
        (Price(input=1, output=0, cached=0), {"cache_read_input_token_count": 5000}, None),
        (Price(input=0, output=0.1), {"total_token_count": 140}, "0.000011"),
        (Price(input=0.1, output=0.2), {"input_token_count": 10**6, "output_token_count": 10**6}, "0.3"),
    ],
    ids=["cached", "cached-as-others", "more-cached-than-read", "total-alone", "no-drift"],
)
async def test_what_a_call_costs(price: Price, used: dict[str, int], cost: str | None) -> None:
    """Tokens that the model had in its cache may have a price of their own; others in the total cost as written."""
    client = priced("small", used={"input_token_count": 30, "output_token_count": 0, **used})
    async with served(app_of(spender(client=client), budget=Budget(cost=1, prices={"small": price}))) as (_, http):
        answer = await ask(http, "0", thread_id="t")

    assert answer.json().get("cost") == cost


@pytest.mark.behaviour("http.unpriced")
@pytest.mark.parametrize("per", ["thread", "owner/day"])
async def test_what_a_model_without_a_price_used_counts_and_it_is_not_called_again(per: Any) -> None:
    """Its tokens are known, and what they cost is known to nobody: one call in a process, and no more."""
    budget = Budget(tokens=1000, cost=1, prices=A_CALL, per=per)
    async with served(app_of(spender(client=priced(None, answers_as="unknown")), budget=budget)) as (_, http):
        answers = [(await ask(http, "0", thread_id="t")).json() for _ in range(3)]
        runs = (await http.get(f"{THREADS}/t/runs")).json()["runs"]
        shown = (await http.get(f"{THREADS}/t")).json()["budget"]

    assert [answer["code"] for answer in answers] == ["unpriced_model"] * 3
    assert [run["usage"].get("total_token_count") for run in runs] == [None, None, 40]
    assert (shown["used_tokens"], shown["used_cost"]) == (40, "0")
    assert CALLS == ["0"]


@pytest.mark.behaviour("http.unpriced")
async def test_a_model_that_is_known_to_have_no_price_is_not_called() -> None:
    chosen = spender(client=priced("other"))
    chosen.default_options["model"] = "small"
    async with served(app_of(chosen, budget=Budget(cost=100, prices=A_CALL))) as (_, http):
        answered = await ask(http, "0", thread_id="t")
        chosen.default_options["model"] = "third"
        refused = await ask(http, "0", thread_id="t")

    assert (answered.status_code, refused.status_code, refused.json()["code"]) == (200, 500, "unpriced_model")
    assert refused.json()["detail"].startswith("Model 'third' was to be called and has no price. Add it to the prices")
    assert CALLS == ["0"]
    with pytest.raises(ConfigurationError, match="has no price of its model 'third'"):
        app_of(chosen, budget=Budget(cost=100, prices={"other": A_CALL["small"]}))


class _Breaking(ContextProvider):
    """Fails behind the first call of the model, and before any other."""

    async def before_run(self, **given: Any) -> None:
        if CALLS:
            raise RuntimeError("The store of my own is away.")

    async def after_run(self, **given: Any) -> None:
        raise RuntimeError("The store of my own is away.")


@pytest.mark.behaviour("http.cost")
async def test_a_run_that_fails_before_its_model_is_asked_again_cost_what_its_first_attempt_did() -> None:
    agent = Agent(client=priced("small"), name="Joker", context_providers=[_Breaking("breaking")])
    app = app_of()
    app.add_agent(agent, retry=Retry(attempts=2, first_pause_seconds=0), budget=Budget(cost=10, prices=A_CALL))
    async with served(app) as (_, http):
        failed = await ask(http, "0", thread_id="t")
        (run,) = (await http.get(f"{THREADS}/t/runs")).json()["runs"]

    assert (failed.json()["code"], run["attempts"], run["cost"], CALLS) == ("run_failed", 2, "5.000001", ["0"])


def _workflow() -> Workflow:
    return WorkflowBuilder(
        start_executor=AgentExecutor(spender("writer", client=priced("other"))), name="Write"
    ).build()


@pytest.mark.behaviour("http.cost")
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (Budget, "neither tokens nor a cost"),
        (
            lambda: Budget(cost="much", prices=A_CALL),
            "cost of a Budget is 'much'. Give a number from 0 to 1,000,000,000",
        ),
        (lambda: Budget(cost="0.0000001", prices=A_CALL), "with at most 6 decimals"),
        (lambda: Budget(cost=float("nan"), prices=A_CALL), "cost of a Budget is 'nan'"),
        (lambda: Budget(cost=True, prices=A_CALL), "cost of a Budget is 'True'"),
        (lambda: Budget(cost=0, prices=A_CALL), "cost of a Budget is 0"),
        (lambda: Budget(cost=1), "has a cost and no prices"),
        (lambda: Budget(tokens=1, prices=A_CALL), "has prices and no cost"),
        (lambda: Budget(cost=1, prices={"small": 5}), r"The price of model 'small' is a int. Give Price\("),  # type: ignore[dict-item]
        (
            lambda: Budget(cost=1, prices=5),  # type: ignore[arg-type]
            "prices of a Budget is '5', which is not a mapping. Give {'name of the model'",
        ),
        (lambda: Budget(tokens=1, prices=None), "prices of a Budget is 'None', which is not a mapping"),  # type: ignore[arg-type]
        (lambda: Budget(cost=1, prices=[("small", Price(1, 2))]), "which is not a mapping"),  # type: ignore[arg-type]
        (lambda: Budget(cost=1, prices={7: Price(1, 2)}), "has a price of '7', which is not a model name"),  # type: ignore[dict-item]
        (lambda: Budget(cost=1, prices={" ": Price(1, 2)}), "has a price of ' ', which is not a model name"),
        (lambda: Price(input=-1, output=1), "input of a Price is '-1'"),
        (
            lambda: app_of(spender(client=priced("other")), budget=Budget(cost=1, prices=A_CALL)),
            "The budget of agent 'Joker' has no price of its model 'other'. Add it to prices",
        ),
        (
            lambda: app_of(workflows=[_workflow], budget=Budget(cost=1, prices=A_CALL)),
            "The budget of agent 'Write' has no price of its model 'other'",
        ),
    ],
)
def test_a_cost_or_a_price_that_is_none_is_refused_at_the_start(given: Any, sentence: str) -> None:
    """By a sentence that says what to give instead; so is a model whose price is missing."""
    with pytest.raises(ConfigurationError, match=sentence):
        given()


RUN = "/api/agents/Joker/run"


class _Talker(BaseChatClient[Any]):
    """Says 400 characters, perhaps how many tokens it has read, and then nothing until it may `go_on`; or it breaks."""

    model = "talker"

    def __init__(self, reported: Mapping[str, int] | None = None, *, breaks: bool = False) -> None:
        super().__init__()
        self._reported, self._breaks = reported, breaks
        self.is_heard = asyncio.Event()

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        assert stream
        return self._build_response_stream(self._words())

    async def _words(self) -> AsyncIterator[ChatResponseUpdate]:
        if self._reported is not None:
            usage = Content.from_usage(dict(self._reported))  # type: ignore[arg-type]
            yield ChatResponseUpdate(role="assistant", contents=[usage], model=self.model)
        for _ in range(4):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text("a" * 100)], model=self.model)
        if self._breaks:
            raise ConnectionError("the model's server went away")
        self.is_heard.set()
        await asyncio.Event().wait()


class Talker(FunctionInvocationLayer, ChatMiddlewareLayer, _Talker):  # type: ignore[misc,type-arg]
    """The same as the framework's clients are made."""


async def cut_short(app: Any, talker: Talker, *, is_spent: bool = True) -> dict[str, Any]:
    """Stream a run, cancel it before its last word unless it breaks, and return what stands of it."""
    async with served(app) as (host, http):
        body = {"message": "b" * 40, "thread_id": "t", "stream": True}
        running = asyncio.ensure_future(http.post(RUN, json=body))
        if not talker._breaks:
            await asyncio.wait_for(talker.is_heard.wait(), GUARD_SECONDS)
            listed = (await http.get("/api/agents/Joker/threads/t/runs")).json()["runs"]
            await http.post(f"/api/agents/Joker/threads/t/runs/{listed[0]['run_id']}/cancel")
        await asyncio.wait_for(running, GUARD_SECONDS)
        await host.entities.idle()
        (run,) = (await http.get("/api/agents/Joker/threads/t/runs")).json()["runs"]
        return {
            "run": run,
            "thread": (await http.get("/api/agents/Joker/threads/t")).json(),
            "day": (await http.get("/api/agents/Joker/budget")).json()["budget"],
            "timeline": (await http.get(f"/api/agents/Joker/threads/t/runs/{run['run_id']}/timeline")).json(),
            "next": await http.post(RUN, json={"message": "hi", "stream": True}) if is_spent else None,
        }


@pytest.mark.behaviour("http.budget-cut-short")
@pytest.mark.parametrize("breaks", [False, True])
async def test_what_was_received_of_an_answer_that_was_cut_short_counts(breaks: bool) -> None:
    """Cancelled by its reader, or broken off by the model's server: the day of its owner pays, and it names that
    an estimate."""
    talker = Talker(breaks=breaks)
    agent = Agent(client=talker, name="Joker")
    found = await cut_short(app_of(agent, budget=Budget(tokens=100, per="owner/day")), talker)

    estimate = {"input_token_count": 10, "output_token_count": 100, "total_token_count": 110}
    usage = {**estimate, "estimated_token_count": 110}
    assert (found["day"]["used_tokens"], found["day"]["left_tokens"]) == (110, 0)
    assert found["run"]["usage"] == found["thread"]["usage"] == found["timeline"]["usage"] == usage
    assert "budget_exceeded" in found["next"].text


PARTS = {"cache_read_input_token_count": 8, "reasoning_output_token_count": 10}
TOTALS = {"input_token_count": 20, "output_token_count": 16, "total_token_count": 36}


@pytest.mark.behaviour("http.parts-of-usage")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_the_parts_of_a_runs_usage_are_in_every_answer_of_ours(streamed: bool) -> None:
    """Of both of its model calls: in its answer, its thread, and step by step in its timeline."""
    async with served(app_of(thinker())) as (_, http):
        await ask(http, "look", thread_id="t", stream=streamed)
        run_id = (await http.get("/api/agents/Joker/threads/t/runs")).json()["runs"][0]["run_id"]
        run = (await http.get(f"/api/agents/Joker/threads/t/runs/{run_id}")).json()
        thread = (await http.get("/api/agents/Joker/threads/t")).json()
        timeline = (await http.get(f"/api/agents/Joker/threads/t/runs/{run_id}/timeline")).json()

    calls = [step["usage"] for step in timeline["steps"] if step["kind"] == "model_call"]
    assert run["usage"] == thread["usage"] == timeline["usage"] == {**TOTALS, **PARTS}
    assert calls == [{name: count // 2 for name, count in {**TOTALS, **PARTS}.items()}] * 2
