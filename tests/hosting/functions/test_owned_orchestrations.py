"""Orchestrations that callers start: for whom they act, who reads how they stand, and what no answer holds."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.carriers import APP
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("owners.orchestration-state")]

OWNED = """\
from dataclasses import asdict

import azure.durable_functions as df
import azure.functions as func
from scripted import scripted_agent

from hosting.app import AgentFunctionApp, Principal


def who(request):
    name = request.headers.get("x-user")
    return None if name is None else Principal("https://login.example", name)


app = AgentFunctionApp(agents=[scripted_agent("Joker")], principal=who)


@app.route(route="ask/{name}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    principal = await app.principal_of(req)
    given = {"text": req.get_body().decode(), "owner": principal and asdict(principal)}
    seconds = float(req.params.get("wait", "0"))
    return await app.run_orchestration(req, client, req.route_params["name"], given, wait_seconds=seconds)


@app.route(route="leak", methods=["POST"])
@app.durable_client_input(client_name="client")
async def leak(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    return client.create_check_status_response(req, await client.start_new("short"))


app.orchestration_status_route()


@app.orchestration_trigger(context_name="context")
def ask_joker(context: df.DurableOrchestrationContext):
    given = context.get_input()
    joker = app.get_agent(context, "Joker", owner=Principal(**given["owner"]))
    answer = yield joker.run(given["text"], session=joker.get_session("by-orchestration"))
    return {"said": answer.text}


@app.orchestration_trigger(context_name="context")
def wait(context: df.DurableOrchestrationContext):
    context.set_custom_status("waiting")
    return (yield context.wait_for_external_event("never"))


@app.orchestration_trigger(context_name="context")
def fail(context: df.DurableOrchestrationContext):
    raise ValueError("a secret of the orchestrator")
    yield
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The user's app on a host."""
    with RunningHost(owned_app(tmp_path_factory.mktemp("owned"))) as running:
        yield running


def owned_app(folder: Path) -> Path:
    """Return the folder of the user's app, made in that one."""
    copied = shutil.copytree(APP, folder / "app", ignore=shutil.ignore_patterns(".*", "__pycache__"))
    (copied / "function_app.py").write_text(OWNED, encoding="utf-8")
    return copied


@pytest.fixture
def client(host: RunningHost) -> Iterator[httpx.Client]:
    """A client of it."""
    with httpx.Client(base_url=host.origin, timeout=2 * GUARD_SECONDS) as opened:
        yield opened


def ask(client: httpx.Client, user: str | None, method: str, path: str, **options: Any) -> httpx.Response:
    """Send a request as that user."""
    return client.request(method, path, headers={} if user is None else {"x-user": user}, **options)


def test_an_orchestration_acts_for_whoever_started_it(client: httpx.Client) -> None:
    """Its output is answered as it is, and the thread is that person's."""
    answer = ask(client, "ada", "POST", "/api/ask/ask_joker?wait=20", content="hello")
    thread = "/api/agents/Joker/threads/by-orchestration"

    assert (answer.status_code, answer.json()) == (200, {"said": "echo: hello"})
    assert [ask(client, user, "GET", thread).status_code for user in ("ada", "bob")] == [200, 404]


def test_its_state_is_read_by_whoever_started_it_and_by_nobody_else(client: httpx.Client) -> None:
    """By a place of ours, in which there is no key and no owner; another's is one that never was."""
    begun = ask(client, "ada", "POST", "/api/ask/wait")
    place, shown = begun.headers["location"], begun.json()["id"]
    guard = time.monotonic() + GUARD_SECONDS
    while (own := ask(client, "ada", "GET", place)).json()["custom_status"] is None and time.monotonic() < guard:
        time.sleep(0.05)
    others, never = (ask(client, "bob", "GET", f"/api/orchestrations/{name}") for name in (shown, "0" * 32))

    assert (begun.status_code, place) == (202, f"{str(client.base_url).rstrip('/')}/api/orchestrations/{shown}")
    assert (own.status_code, own.json()) == (202, {"id": shown, "status": "Running", "custom_status": "waiting"})
    assert (others.status_code, others.json()["code"]) == (404, "unknown_orchestration")
    assert others.text.replace(shown, "ID") == never.text.replace("0" * 32, "ID")
    assert "code=" not in begun.text + str(begun.headers)
    assert ask(client, None, "GET", place).status_code == 401


def test_one_that_fails_is_no_success_and_tells_nothing_of_the_cause(client: httpx.Client) -> None:
    """500 to whoever waits for it, `Failed` to whoever asks."""
    waited = ask(client, "ada", "POST", "/api/ask/fail?wait=20")
    state = ask(client, "ada", "GET", f"/api/orchestrations/{waited.json()['id']}")

    assert (waited.status_code, waited.json()["status"]) == (500, "Failed")
    assert (state.status_code, state.json()["status"]) == (200, "Failed")
    assert "secret" not in waited.text + state.text
