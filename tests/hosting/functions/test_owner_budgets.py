"""`Budget(per="owner/day")`, over HTTP: how much of an agent's model each owner may use in a day (hosting.md)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import ChatResponse

import hosting.app
from hosting.app import AgentFunctionApp, Budget, Price
from hosting.ports import Clocks
from tests.hosting.functions.owned_app import signed_in
from tests.support.carriers import GUARD_SECONDS
from tests.support.made_app import app_of, served
from tests.support.spender import CALLS, Spender, priced, spender

RUN = "/api/agents/Joker/run"
PRICES = {"small": Price(input="100000", output="200000.10")}
"""A call costs 5.000001."""
NOON = 1_767_268_800.0
"""2026-01-01T12:00:00Z: the time of all processes, so that no day ends in the middle of a test."""


@pytest.fixture(autouse=True)
def _at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLS.clear()
    services = partial(hosting.app.Services, clocks=Clocks(wall=lambda: NOON))
    monkeypatch.setattr(hosting.app, "Services", services)


def _app(log: str, budget: Budget, client: Spender | None = None) -> AgentFunctionApp:
    return app_of(spender(client=client), budget=budget, principal=signed_in, environ={"AGENT_LOG": log})


class _Held(Spender):
    """A model whose calls wait until they may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.goes_on = threading.Event(), threading.Event()  # it is called on a loop of its own

    def _inner_get_response(self, **kwargs: Any) -> Any:
        return self._answer(**kwargs)

    async def _answer(self, **kwargs: Any) -> ChatResponse[Any]:
        self.begun.set()
        assert await asyncio.to_thread(self.goes_on.wait, GUARD_SECONDS)
        answer: ChatResponse[Any] = await super()._inner_get_response(**kwargs)  # type: ignore[misc]
        return answer


@asynccontextmanager
async def _processes(*apps: AgentFunctionApp) -> AsyncIterator[list[httpx.AsyncClient]]:
    async with AsyncExitStack() as stack:
        yield [(await stack.enter_async_context(served(app)))[1] for app in apps]


async def _ask(http: httpx.AsyncClient, message: str, thread_id: str, user: str = "ada", **fields: Any) -> Any:
    """Return what this user is answered, with its status."""
    body = {"message": message, "thread_id": thread_id, **fields}
    answer = await http.post(RUN, json=body, headers={"x-user": user})
    return answer.status_code, answer.json()


@pytest.mark.behaviour("http.owner-budget")
async def test_all_threads_of_an_owner_share_a_day_in_all_processes(tmp_path: Path) -> None:
    """Another owner has a day of their own. The run that used it up keeps what it said."""
    log, budget = f"sqlite:{tmp_path / 'log.sqlite'}", Budget(tokens=100, per="owner/day")
    async with _processes(_app(log, budget), _app(log, budget)) as (one, two):
        first = await _ask(one, "0", "t")
        second = await _ask(two, "9", "u")
        third = await _ask(one, "0", "t")
        other = await _ask(two, "0", "t", user="bob")
        messages = await two.get("/api/agents/Joker/threads/u/messages", headers={"x-user": "ada"})

    assert [status for status, _ in (first, second, third, other)] == [200, 402, 402, 200]
    assert CALLS == ["0", "9", "9", "0"]
    assert (second[1]["budget"], messages.json()["entries"][1]["status"]) == (third[1]["budget"], "interrupted")
    renews_at = "2026-01-02T00:00:00Z"
    used = {"per": "owner/day", "tokens": 100, "used_tokens": 120, "left_tokens": 0}
    assert third[1]["budget"] == {**used, "renews_at": renews_at}
    assert third[1]["detail"] == (
        f"Today the owner has used 120 tokens of its 100, and none are left. It renews at {renews_at}."
    )


@pytest.mark.behaviour("http.owner-budget")
async def test_only_calls_in_flight_may_pass_what_an_owner_has_left(tmp_path: Path) -> None:
    """A call that began while some was left is answered and counted; none begins after the one that used it up."""
    log, budget = f"sqlite:{tmp_path / 'log.sqlite'}", Budget(cost=10, per="owner/day", prices=PRICES)
    slow = _Held()
    slow.model = "small"
    async with _processes(_app(log, budget, slow), _app(log, budget, priced("small"))) as (one, two):
        in_flight = asyncio.ensure_future(_ask(one, "9", "t"))
        assert await asyncio.to_thread(slow.begun.wait, GUARD_SECONDS)
        using_up = await _ask(two, "1", "u")
        slow.goes_on.set()
        passing = await in_flight
        after = await _ask(two, "0", "u")

    assert (using_up[0], using_up[1]["cost"]) == (200, "10.000002")
    assert (passing[0], passing[1]["budget"]["used_cost"]) == (402, "15.000003")
    assert (after[0], after[1]["budget"]["used_cost"], after[1]["budget"]["left_cost"]) == (402, "15.000003", "0")
    assert CALLS == ["1", "1", "9"]
