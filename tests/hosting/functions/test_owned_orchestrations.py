"""Orchestrations that callers start: for whom they act, who reads how they stand, and what no answer holds."""

# mypy: disable-error-code="untyped-decorator"
# (the decorators of the SDK carry no types)
from dataclasses import asdict
from typing import Any

import azure.durable_functions as df
import azure.functions as func
import httpx
import pytest

from hosting.app import AgentFunctionApp, Principal
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import engine_app
from tests.support.made_app import app_of
from tests.support.owned_app import signed_in

pytestmark = pytest.mark.behaviour("owners.orchestration-state")


def owned_app() -> AgentFunctionApp:
    """Return a user's app that starts orchestrations for whoever asks."""
    app = app_of(scripted_agent("Joker"), principal=signed_in)

    @app.route(route="ask/{name}", methods=["POST"])
    @app.durable_client_input(client_name="client")
    async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
        principal = await app.principal_of(req)
        given = {"text": req.get_body().decode(), "owner": principal and asdict(principal)}
        seconds = float(req.params.get("wait", "0"))
        return await app.run_orchestration(req, client, req.route_params["name"], given, wait_seconds=seconds)

    app.orchestration_status_route()

    @app.orchestration_trigger(context_name="context")
    def ask_joker(context: df.DurableOrchestrationContext) -> Any:
        given = context.get_input()
        joker = app.get_agent(context, "Joker", owner=Principal(**given["owner"]))
        answer = yield joker.run(given["text"], session=joker.get_session("by-orchestration"))
        return {"said": answer.text}

    @app.orchestration_trigger(context_name="context")
    def wait(context: df.DurableOrchestrationContext) -> Any:
        context.set_custom_status("waiting")
        return (yield context.wait_for_external_event("never"))

    @app.orchestration_trigger(context_name="context")
    def fail(context: df.DurableOrchestrationContext) -> Any:
        raise ValueError("a secret of the orchestrator")
        yield

    return app


async def test_an_orchestration_is_of_whoever_started_it_and_of_nobody_else() -> None:
    """Its output is answered as it is, and the thread is that person's.

    It is read by a place of ours, in which there is no key and no owner; another's is one that never was.
    """
    async with engine_app(owned_app()) as running:

        async def ask(user: str, method: str, path: str, body: str = "") -> httpx.Response:
            headers = {"x-user": user} if user else {}
            return await running.http.request(method, f"/api/{path}", headers=headers, content=body)

        answer = await ask("ada", "POST", "ask/ask_joker?wait=20", "hello")
        thread = "agents/Joker/threads/by-orchestration"
        reached = [(await ask(user, "GET", thread)).status_code for user in ("ada", "bob")]
        begun = await ask("ada", "POST", "ask/wait")
        place, shown = begun.headers["location"], begun.json()["id"]

        async def is_told() -> bool:
            return (await ask("ada", "GET", f"orchestrations/{shown}")).json()["custom_status"] is not None

        await running.store.until(is_told)
        own, nobodys = [await ask(user, "GET", f"orchestrations/{shown}") for user in ("ada", "")]
        others, never = [await ask("bob", "GET", f"orchestrations/{name}") for name in (shown, "0" * 32)]
        failed = await ask("ada", "POST", "ask/fail?wait=20")
        state = await ask("ada", "GET", f"orchestrations/{failed.json()['id']}")

    assert (answer.status_code, answer.json(), reached) == (200, {"said": "echo: hello"}, [200, 404])
    assert (begun.status_code, place.endswith(f"/api/orchestrations/{shown}")) == (202, True)
    assert (own.status_code, own.json()) == (202, {"id": shown, "status": "Running", "custom_status": "waiting"})
    assert (others.status_code, others.json()["code"], nobodys.status_code) == (404, "unknown_orchestration", 401)
    assert others.text.replace(shown, "ID") == never.text.replace("0" * 32, "ID")
    assert "code=" not in begun.text + str(begun.headers)
    # One that fails is no success, and tells nothing of the cause.
    assert (failed.status_code, failed.json()["status"], state.json()["status"]) == (500, "Failed", "Failed")
    assert "secret" not in failed.text + state.text
