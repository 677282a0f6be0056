"""What is asked below `agents` and `workflows` and is not a route of this app: a sentence, where the host has none."""

from __future__ import annotations

import httpx
import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, served
from tests.support.owned_app import signed_in

REFUSED = {
    "unknown_route": {
        "GET agents/Joker/memory": "No agent of this app remembers its callers",
        "DELETE agents/joker/memory/f": "No agent of this app remembers its callers",
        "GET agents/Joker/memory/": "No agent of this app remembers its callers",
        "GET agents/Joker/webhooks": "This app sends no webhooks: AGENT_WEBHOOK_SECRET is not set.",
        "POST agents/Joker/threads/t/runs/r/webhooks/agent": "This app sends no webhooks",
        "POST agents/Joker/schedules": "This app has no schedules: AGENT_SCHEDULES is 0.",
        "POST agents/Joker/threads/t/assign": "This app has no owners: its AgentFunctionApp has no principal=",
        "DELETE agents/Joker/threads/t/grants/g": "This app has no owners",
        "POST workflows/Write/run": "This app has no workflows. GET agents lists its agents.",
        "POST agents/Joker/threads/assign/x": "POST 'agents/Joker/threads/assign/x' is not a route",
        "GET agents/Joker/notes": "GET 'agents/Joker/notes' is not a route of this app. GET openapi.json lists",
        "DELETE agents": "DELETE 'agents' is not a route of this app.",
    },
    "method_not_allowed": {
        "GET agents/joker/run": "GET is not served here. Send POST agents/Joker/run.",
        "GET agents/joker/run/": "GET is not served here. Send POST agents/Joker/run.",
    },
    "unknown_agent": {
        "GET agents/bob/memory": "There is no agent 'bob' here. Agents: Joker.",
        "GET agents/%22%3Cb": "There is no agent",
    },
}
"""What is refused by each code, with the beginning of the sentence."""


@pytest.mark.behaviour("http.unknown-routes")
@pytest.mark.parametrize("code", REFUSED)
async def test_a_route_that_the_app_does_not_have_is_refused_in_a_sentence(code: str) -> None:
    app = app_of(scripted_agent("Joker"), environ={"AGENT_LOG": "memory", "AGENT_SCHEDULES": "0"})
    async with served(app) as (_, http):
        for request_line, sentence in REFUSED[code].items():
            method, _, path = request_line.partition(" ")
            answer = await http.request(method, f"/api/{path}")

            assert answer.status_code == (405 if code == "method_not_allowed" else 404)
            assert answer.headers["content-type"] == "application/problem+json"
            assert (answer.json()["code"], answer.json()["detail"][: len(sentence)]) == (code, sentence)


@pytest.mark.behaviour("http.unknown-routes")
async def test_who_is_not_signed_in_learns_nothing_of_what_the_app_has() -> None:
    async with served(app_of(scripted_agent("Joker"), principal=signed_in)) as (_, http):
        answers: list[httpx.Response] = [
            await http.get(f"/api/{path}") for path in ("agents/bob/memory", "workflows/x")
        ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(401, "unauthorized")] * 2
