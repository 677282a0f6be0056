"""Tokens of a cache and of reasoning: parts of a model's input and output, shown on every wire and counted once."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.app import Budget, Price
from tests.support.ag_ui import events_of, wanted
from tests.support.made_app import app_of, ask, served
from tests.support.thinker import thinker

WIRES = ["responses", "chat-completions", "ag-ui"]
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


@pytest.mark.behaviour("http.parts-of-usage")
async def test_the_parts_of_a_runs_usage_are_on_every_wire() -> None:
    async with served(app_of(thinker(), wires=WIRES)) as (_, http):
        response = (await http.post("/api/openai/v1/responses", json={"model": "Joker", "input": "look"})).json()
        chat = {"model": "Joker", "messages": [{"role": "user", "content": "look"}]}
        completion = (await http.post("/api/chat/v1/chat/completions", json=chat)).json()
        events = events_of((await http.post("/api/ag-ui/Joker", json=wanted("look"))).text)

    assert response["usage"] == {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
        "output_tokens": 16,
        "output_tokens_details": {"reasoning_tokens": 10},
        "total_tokens": 36,
    }
    assert completion["usage"] == {
        "prompt_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens": 16,
        "completion_tokens_details": {"reasoning_tokens": 10},
        "total_tokens": 36,
    }
    parts = {"cachedInputTokens": 8, "reasoningTokens": 10}
    assert events[-1]["usage"] == [{"inputTokens": 20, "outputTokens": 16, "totalTokens": 36, **parts}]


@pytest.mark.behaviour("http.parts-of-usage")
@pytest.mark.parametrize(
    ("budget", "used"),
    [
        ({"tokens": 1000}, {"used_tokens": 36}),
        ({"cost": 1, "prices": {"m": Price(input=1, output=10, cached="0.1")}}, {"used_cost": "0.0001728"}),
    ],
    ids=["tokens", "cost"],
)
async def test_reasoning_counts_once_in_a_budget_and_the_cache_has_its_price(budget: Any, used: Any) -> None:
    """12 tokens were read at 1, 8 from the cache at 0.1, and 16 written at 10: for a million."""
    agent = thinker(default_options={"model": "m"})
    async with served(app_of(agent, budget=Budget(**budget))) as (_, http):
        answer = (await ask(http, "look")).json()

    assert used.items() <= answer["budget"].items()
    assert answer["usage"] == {**TOTALS, **PARTS}
