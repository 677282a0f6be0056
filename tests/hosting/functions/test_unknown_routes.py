"""What is asked below `agents` and `workflows` and is not a route of this app: a sentence, where the host has none."""

from __future__ import annotations

import httpx
import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, served
from tests.support.owned_app import signed_in

LACKS_MEMORY = "No agent of this app remembers its callers"
LACKS_WEBHOOKS = "This app sends no webhooks: AGENT_WEBHOOK_SECRET is not set."
LACKS_SCHEDULES = "This app has no schedules: AGENT_SCHEDULES is 0."
LACKS_OWNERS = "This app has no owners: its AgentFunctionApp has no principal="
LACKS_WORKFLOWS = "This app has no workflows. GET agents lists its agents."


@pytest.mark.behaviour("http.unknown-routes")
@pytest.mark.parametrize(
    ("request_line", "status", "code", "sentence"),
    [
        ("GET agents/Joker/memory", 404, "unknown_route", LACKS_MEMORY),
        ("DELETE agents/joker/memory/f", 404, "unknown_route", LACKS_MEMORY),
        ("GET agents/Joker/webhooks", 404, "unknown_route", LACKS_WEBHOOKS),
        ("GET agents/Joker/threads/t/webhooks", 404, "unknown_route", LACKS_WEBHOOKS),
        ("POST agents/Joker/threads/t/runs/r/webhooks/agent", 404, "unknown_route", LACKS_WEBHOOKS),
        ("POST agents/Joker/schedules", 404, "unknown_route", LACKS_SCHEDULES),
        ("POST agents/Joker/threads/t/assign", 404, "unknown_route", LACKS_OWNERS),
        ("GET agents/Joker/threads/t/grants", 404, "unknown_route", LACKS_OWNERS),
        ("DELETE agents/Joker/threads/t/grants/g", 404, "unknown_route", LACKS_OWNERS),
        (
            "POST agents/Joker/threads/assign/x",
            404,
            "unknown_route",
            "POST 'agents/Joker/threads/assign/x' is not a route",
        ),
        ("GET workflows", 404, "unknown_route", LACKS_WORKFLOWS),
        ("POST workflows/Write/run", 404, "unknown_route", LACKS_WORKFLOWS),
        (
            "GET agents/Joker/notes",
            404,
            "unknown_route",
            "GET 'agents/Joker/notes' is not a route of this app. GET openapi.json lists",
        ),
        ("PUT agents/Joker/threads/t/runs", 404, "unknown_route", "PUT 'agents/Joker/threads/t/runs' is not a route"),
        ("DELETE agents", 404, "unknown_route", "DELETE 'agents' is not a route of this app."),
        ("GET agents/joker/run", 405, "method_not_allowed", "GET is not served here. Send POST agents/Joker/run."),
        ("GET agents/joker/run/", 405, "method_not_allowed", "GET is not served here. Send POST agents/Joker/run."),
        ("GET agents/Joker/memory/", 404, "unknown_route", LACKS_MEMORY),
        ("GET agents/bob/memory", 404, "unknown_agent", "There is no agent 'bob' here. Agents: Joker."),
        ("GET agents/%22%3Cb", 404, "unknown_agent", "There is no agent"),
    ],
)
async def test_a_route_that_the_app_does_not_have_is_refused_in_a_sentence(
    request_line: str, status: int, code: str, sentence: str
) -> None:
    method, _, path = request_line.partition(" ")
    app = app_of(scripted_agent("Joker"), environ={"AGENT_LOG": "memory", "AGENT_SCHEDULES": "0"})
    async with served(app) as (_, http):
        answer = await http.request(method, f"/api/{path}")

    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert (answer.json()["code"], answer.json()["detail"][: len(sentence)]) == (code, sentence)


@pytest.mark.behaviour("http.unknown-routes")
async def test_who_is_not_signed_in_learns_nothing_of_what_the_app_has() -> None:
    async with served(app_of(scripted_agent("Joker"), principal=signed_in)) as (_, http):
        answers: list[httpx.Response] = [
            await http.get(f"/api/{path}") for path in ("agents/bob/memory", "workflows/x")
        ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(401, "unauthorized")] * 2
