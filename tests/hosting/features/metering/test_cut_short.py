"""What counts of a model's streamed answer that does not come whole: what was received, as an estimate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

from hosting.app import Budget, Limit, Price
from tests.support.carriers import GUARD_SECONDS
from tests.support.made_app import app_of, served

RUN = "/api/agents/Joker/run"
REPORTED = {"input_token_count": 1000, "output_token_count": 1}


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


@pytest.mark.behaviour("http.budget-cut-short")
async def test_what_a_model_reported_before_it_was_cut_short_is_no_estimate() -> None:
    """Of what it has read; what it has written is what was received, if that is more than it reported."""
    talker = Talker(reported=REPORTED)
    found = await cut_short(
        app_of(Agent(client=talker, name="Joker"), budget=Budget(tokens=5000)), talker, is_spent=False
    )

    assert found["run"]["usage"] == {
        "input_token_count": 1000,
        "output_token_count": 100,
        "total_token_count": 1100,
        "estimated_token_count": 99,
    }


@pytest.mark.behaviour("http.budget-cut-short")
async def test_what_was_cut_short_has_its_price_and_counts_for_the_minute() -> None:
    talker = Talker()
    budget = Budget(cost="1", prices={"talker": Price(input="1", output="10")})
    found = await cut_short(
        app_of(Agent(client=talker, name="Joker"), budget=budget, limit=Limit(tokens_per_minute=100)), talker
    )

    assert found["run"]["cost"] == "0.00101"
    assert found["next"].status_code == 429
