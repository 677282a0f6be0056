"""What each owner may use of a model in a day and in a minute, over HTTP."""

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
from hosting.app import AgentFunctionApp, Budget, Limit, Price
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


LIMIT = Limit(tokens_per_minute=100)
"""A call uses 40."""


class _Time:
    """The wall clock of all processes, which a test moves by hand."""

    now = 1_767_268_800.0


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> _Time:
    """The time of a test's apps; nothing was called before."""
    CALLS.clear()
    time = _Time()
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=Clocks(wall=lambda: time.now)))
    return time


async def _post(http: httpx.AsyncClient, message: str, user: str = "ada", path: str = RUN, **fields: Any) -> Any:
    body = {"message": message, "thread_id": "t", **fields}
    return await http.post(path, json=body, headers={"x-user": user})


def _limited(**options: Any) -> AgentFunctionApp:
    return app_of(spender(), principal=signed_in, **{"limit": LIMIT, **options})


@pytest.mark.behaviour("http.token-limit")
async def test_what_a_callers_runs_use_in_a_minute_counts_in_all_processes(tmp_path: Path, time: _Time) -> None:
    """The run that passes it is answered; the next request is told when some are left, and is taken then."""
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    async with AsyncExitStack() as stack:
        one, two = [(await stack.enter_async_context(served(_limited(environ=environ))))[1] for _ in range(2)]
        first = await _post(one, "1")
        time.now += 20
        passing = await _post(two, "1", thread_id="u")
        refused = [await _post(http, "0", thread_id="new") for http in (one, two)]
        other = await _post(two, "0", user="bob")
        stored = await one.get("/api/agents/Joker/threads/new", headers={"x-user": "ada"})
        time.now += int(refused[0].headers["retry-after"])
        after = await _post(one, "0")

    assert [answer.status_code for answer in (first, passing, other, stored, after)] == [200, 200, 200, 404, 200]
    assert CALLS == ["1", "1", "1", "1", "0", "0"]
    for answer in refused:
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "41")
        assert answer.headers["ratelimit-policy"] == '"tokens";q=100;qu="tokens";w=60'
        assert answer.headers["ratelimit"] == '"tokens";r=0;t=41'
        problem = answer.json()
        assert problem["code"] == "limit_exceeded"
        assert problem["limit"] == {"of": "tokens", "per": "owner/minute", "most": 100, "left": 0}
        assert problem["detail"] == (
            "You may use 100 tokens of the model in a minute, and have used 160. Try again in 41 s."
        )


@pytest.mark.behaviour("http.token-limit")
@pytest.mark.parametrize("fields", [{"stream": True}, {"enable_tool_calls": False}], ids=["streamed", "without tools"])
async def test_tokens_count_however_a_run_is_asked_for(fields: dict[str, Any]) -> None:
    """Also where its tools are switched off: the model is asked the same."""
    async with served(_limited(limit=Limit(tokens_per_minute=80))) as (_, http):
        answers = [(await _post(http, "1", **fields)).status_code, (await _post(http, "0")).status_code]

    assert (answers, CALLS) == ([200, 429], ["1", "1"])
