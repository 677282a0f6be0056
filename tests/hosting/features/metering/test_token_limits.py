"""`Limit(tokens_per_minute=...)`, over HTTP: what the runs of a caller may use of a model in a minute (budgets.md)."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import AgentExecutor, Workflow, WorkflowBuilder

import hosting.app
from hosting.app import AgentFunctionApp, Budget, Limit
from hosting.ports import Clocks
from tests.support.made_app import app_of, served
from tests.support.owned_app import signed_in
from tests.support.spender import CALLS, spender

RUN = "/api/agents/Joker/run"
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


async def _ask(http: httpx.AsyncClient, message: str, user: str = "ada", path: str = RUN, **fields: Any) -> Any:
    body = {"message": message, "thread_id": "t", **fields}
    return await http.post(path, json=body, headers={"x-user": user})


def _app(**options: Any) -> AgentFunctionApp:
    return app_of(spender(), principal=signed_in, **{"limit": LIMIT, **options})


@pytest.mark.behaviour("http.token-limit")
async def test_what_a_callers_runs_use_in_a_minute_counts_in_all_processes(tmp_path: Path, time: _Time) -> None:
    """The run that passes it is answered; the next request is told when some are left, and is taken then."""
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    async with AsyncExitStack() as stack:
        one, two = [(await stack.enter_async_context(served(_app(environ=environ))))[1] for _ in range(2)]
        first = await _ask(one, "1")
        time.now += 20
        passing = await _ask(two, "1", thread_id="u")
        refused = [await _ask(http, "0", thread_id="new") for http in (one, two)]
        other = await _ask(two, "0", user="bob")
        stored = await one.get("/api/agents/Joker/threads/new", headers={"x-user": "ada"})
        time.now += int(refused[0].headers["retry-after"])
        after = await _ask(one, "0")

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
    async with served(_app(limit=Limit(tokens_per_minute=80))) as (_, http):
        answers = [(await _ask(http, "1", **fields)).status_code, (await _ask(http, "0")).status_code]

    assert (answers, CALLS) == ([200, 429], ["1", "1"])


@pytest.mark.behaviour("http.token-limit")
async def test_a_limit_of_tokens_is_beside_a_budget_and_holds_for_workflows() -> None:
    def build() -> Workflow:
        return WorkflowBuilder(start_executor=AgentExecutor(spender("writer")), name="Write").build()

    app = _app(workflows=[build], limit=Limit(tokens_per_minute=80), budget=Budget(tokens=80, per="owner/day"))
    async with served(app) as (_, http):
        answers = [
            (answer.status_code, answer.json().get("code"))
            for path in (RUN, "/api/workflows/Write/run")
            for answer in (await _ask(http, "5", path=path), await _ask(http, "0", path=path))
        ]

    assert answers == [(402, "budget_exceeded"), (429, "limit_exceeded")] * 2
