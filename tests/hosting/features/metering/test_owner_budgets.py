"""`Budget(per="owner/day")`, over HTTP: how much of an agent's model each owner may use in a day (budgets.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

import hosting.app
from hosting.app import AgentFunctionApp, Budget, Price
from hosting.errors import LogUnavailableError
from hosting.features.metering.balance import BudgetBalance
from hosting.features.metering.days import OwnerDays
from hosting.ports import Clocks
from tests.support.carriers import GUARD_SECONDS
from tests.support.made_app import app_of, served
from tests.support.owned_app import ISSUER, signed_in
from tests.support.spender import CALLS, Held, Spender, priced, spender

RUN = "/api/agents/Joker/run"
THREADS = "/api/agents/Joker/threads"
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


@asynccontextmanager
async def _processes(*apps: AgentFunctionApp) -> AsyncIterator[list[httpx.AsyncClient]]:
    async with AsyncExitStack() as stack:
        yield [(await stack.enter_async_context(served(app)))[1] for app in apps]


async def _ask(http: httpx.AsyncClient, message: str, thread_id: str, user: str = "ada", **fields: Any) -> Any:
    body = {"message": message, "thread_id": thread_id, **fields}
    answer = await http.post(RUN, json=body, headers={"x-user": user})
    return answer.status_code, answer.json()


@pytest.mark.behaviour("http.owner-budget")
async def test_all_threads_of_an_owner_share_a_day_in_all_processes(tmp_path: Path) -> None:
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
    slow = Held()
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


@pytest.mark.behaviour("http.budget-left")
async def test_what_is_left_of_an_owners_day_is_read_before_it_is_used_up(tmp_path: Path) -> None:
    """In every process, of the agent and with each thread; others see their own day, and a thread's guest none."""
    log, budget = f"sqlite:{tmp_path / 'log.sqlite'}", Budget(tokens=100, per="owner/day")
    guest = {"issuer": ISSUER, "id": "bob", "access": "run"}
    async with _processes(_app(log, budget), _app(log, budget)) as (one, two):
        before = await _read(two, "/api/agents/Joker/budget")
        await _ask(one, "0", "t")
        after = await _read(two, "/api/agents/Joker/budget")
        thread = await _read(two, f"{THREADS}/t")
        of_bob = await _read(two, "/api/agents/Joker/budget", user="bob")
        shared = await one.post(f"{THREADS}/t/grants", json=guest, headers={"x-user": "ada"})
        as_guest = await _read(two, f"/api/shared/{shared.json()['grant']}", user="bob")

    unused = {"per": "owner/day", "tokens": 100, "used_tokens": 0, "left_tokens": 100}
    assert before == of_bob == {"agent": "Joker", "budget": {**unused, "renews_at": "2026-01-02T00:00:00Z"}}
    assert after["budget"] == thread["budget"] == {**before["budget"], "used_tokens": 40, "left_tokens": 60}
    assert (as_guest["thread_id"], "budget" in as_guest) == ("t", False)


@pytest.mark.behaviour("http.budget-answered")
async def test_an_answer_says_what_is_left_of_the_day_to_its_owner_alone(tmp_path: Path) -> None:
    """A guest of the thread spends of it, and is not told; where it cannot be read the answer comes without it."""
    guest = {"issuer": ISSUER, "id": "bob", "access": "run"}
    app = _app(f"sqlite:{tmp_path / 'log.sqlite'}", Budget(tokens=100, per="owner/day"))
    async with _processes(app) as (http,):
        _, answer = await _ask(http, "0", "t")
        shared = await http.post(f"{THREADS}/t/grants", json=guest, headers={"x-user": "ada"})
        url = f"/api/shared/{shared.json()['grant']}/run"
        of_guest = await http.post(url, json={"message": "0"}, headers={"x-user": "bob"})
        after = await _read(http, "/api/agents/Joker/budget")
        cast(BudgetBalance, app._services.hooks["joker"].balance)._days = cast(OwnerDays, _Away())
        without = await _ask(http, "0", "t")

    assert (without[0], "budget" in without[1]) == (200, False)
    left = {"per": "owner/day", "tokens": 100, "used_tokens": 40, "left_tokens": 60}
    assert answer["budget"] == {**left, "renews_at": "2026-01-02T00:00:00Z"}
    assert (of_guest.status_code, "budget" in of_guest.json()) == (200, False)
    assert after["budget"]["used_tokens"] == 80


class _Away:
    """Days whose store is away."""

    async def used(self, owner: str) -> Any:
        raise LogUnavailableError("The log cannot be reached. Try again.")


async def _read(http: httpx.AsyncClient, path: str, user: str = "ada") -> Any:
    return (await http.get(path, headers={"x-user": user})).json()
