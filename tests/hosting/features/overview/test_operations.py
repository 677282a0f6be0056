"""`GET operations`: what all agents are at, for whoever operates the app."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.carriers import Api
from tests.support.owned_app import OwnedApp, owner, with_roles

URL = "/api/operations"
GUARD_SECONDS = 30.0
"""The figures follow the engine's list, which a busy machine brings up to date late."""

pytestmark = pytest.mark.behaviour("overview.operations")


async def agent_of(api: Api, name: str = "Joker", **query: Any) -> dict[str, Any]:
    answer = await api.http.get(URL, params=query)
    assert answer.status_code == 200, answer.text
    return next(dict(one) for one in answer.json()["agents"] if one["agent"] == name)


async def around_a_failure(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the agent is at before and after a run that fails, both of one day: at midnight it is asked again."""
    before = await agent_of(api)
    await api.ask("fail", thread_id="operated")
    end = asyncio.get_running_loop().time() + GUARD_SECONDS
    while (after := await agent_of(api))["today"] == before["today"]:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.05)
    return (before, after) if after["today"]["day"] == before["today"]["day"] else await around_a_failure(api)


@pytest.mark.slow
async def test_runs_that_are_queued_and_running_are_counted_with_what_ended_today(socket: Api) -> None:
    """Over the engine's own list of what changed; and the calls of the store, by this process, for each agent."""
    called = (await socket.http.get(URL)).json()["store_calls_here"]
    before, after = await around_a_failure(socket)
    await socket.entries("operated", turns=1)
    end = asyncio.get_running_loop().time() + GUARD_SECONDS
    runs = [await socket.ask(message, thread_id="operated", wait_for_response=False) for message in ("sleep 30", "hi")]
    while (busy := await agent_of(socket))["running"] == 0:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.05)
    for run in reversed(runs):
        await socket.http.post(f"{run.headers['location']}/cancel")
    refused = await socket.http.get(URL, params={"hours": 721})
    while (stopped := await agent_of(socket))["today"]["cancelled"] < after["today"]["cancelled"] + 2:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.05)
    last = (await socket.http.get(URL)).json()
    calls, every = last["store_calls_here"], last["agents"]

    assert after["today"]["failures"]["run_failed"] == before["today"]["failures"].get("run_failed", 0) + 1
    assert stopped["today"]["failures"] == after["today"]["failures"]
    assert (busy["running"], busy["running_here"], busy["queued"], busy["attempts"]) == (1, 1, 1, 1)
    assert busy["oldest_queued_at"] is not None
    assert busy["store_calls_here"]["append"] >= before["store_calls_here"]["append"] + 4
    assert sum(one["store_calls_here"]["append"] for one in every) == calls["append"]
    assert calls["read"] > called["read"]
    assert (calls["append"] >= called["append"] + 4, calls["failed"]) == (True, called["failed"])
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field")


async def test_an_app_that_knows_its_callers_shows_it_to_administrators_alone() -> None:
    """Of all owners, or of one; what the engine has not been asked for is not there."""
    owned = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators")
    async with owned.http:
        told = [(await owned.ask(user, "GET", "/api/agents")).json()["operations_url"] for user in ("ada", "root")]
        refused = [await owned.ask("ada", "GET", path) for path in (URL, f"{URL}?owner={owner('ada')}")]
        unsigned = await owned.ask(None, "GET", URL)

    assert [(one.status_code, one.json()["code"]) for one in refused] == [(403, "forbidden")] * 2
    assert unsigned.status_code == 401
    assert told == [None, f"http://app.example{URL}"]
