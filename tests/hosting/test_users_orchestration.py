"""The user's own durable app around ours, on the local host: a classic starter, its orchestration, its activity."""

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

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("hosting.classic-routes")]

# As a user of azure-functions-durable writes it; only the class of `app` is ours.
STARTER = """\
import json

import azure.durable_functions as df
import azure.functions as func
from scripted import scripted_agent

from hosting.app import AgentFunctionApp

app = AgentFunctionApp(agents=[scripted_agent("Joker")])


@app.route(route="start/{name}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    instance_id = await client.start_new(req.route_params["name"], client_input=req.get_json())
    return client.create_check_status_response(req, instance_id)


@app.route(route="look/{instance}", methods=["GET"])
@app.durable_client_input(client_name="client")
async def look(req: func.HttpRequest, client) -> func.HttpResponse:
    status = await client.get_status(req.route_params["instance"])
    return func.HttpResponse(json.dumps(status.to_json()), mimetype="application/json")


@app.route(route="page", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
def page(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("<p>hi</p>", mimetype="text/html", status_code=203, headers={"x-of": req.params["of"]})


@app.orchestration_trigger(context_name="context")
def greet(context: df.DurableOrchestrationContext):
    first = yield context.call_activity("hello", context.get_input()["who"])
    answer = yield context.wait_for_external_event("go")
    return [first, answer]


@app.activity_trigger(input_name="who")
def hello(who: str) -> str:
    return f"hello {who}"
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("user") / "app"
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    (folder / "function_app.py").write_text(STARTER, encoding="utf-8")
    with RunningHost(folder) as host, httpx.Client(base_url=host.origin, timeout=2 * GUARD_SECONDS) as opened:
        yield opened


def ended(client: httpx.Client, url: str) -> dict[str, Any]:
    """Return an instance's status once it has ended, under the guard."""
    guard = time.monotonic() + GUARD_SECONDS
    while time.monotonic() < guard:
        answer = client.get(url)
        if answer.status_code == 200:
            return dict(answer.json())
        assert answer.status_code == 202, answer.text
    raise AssertionError(f"not ended: {answer.text}")


def test_a_check_status_response_leads_to_the_orchestrations_end(client: httpx.Client) -> None:
    """Its links are those of the host that the caller reached: status, and the event that the orchestration awaits.

    The rest of the classic client works beside the agents.
    """
    started = client.post("/api/start/greet", json={"who": "Ada"})
    links = started.json()
    looked = client.get(f"/api/look/{links['id']}").json()
    page = client.get("/api/page", params={"of": "mine"})

    raised = client.post(links["sendEventPostUri"].replace("{eventName}", "go"), json="well")
    status = ended(client, links["statusQueryGetUri"])

    assert (started.status_code, raised.status_code) == (202, 202)
    assert started.headers["location"] == links["statusQueryGetUri"]
    assert started.headers["location"].startswith(str(client.base_url))
    assert started.headers["content-type"].startswith("application/json")
    assert "retry-after" in started.headers
    assert (status["runtimeStatus"], status["output"]) == ("Completed", ["hello Ada", "well"])
    assert looked["instanceId"] == links["id"]
    assert (page.status_code, page.text, page.headers["x-of"]) == (203, "<p>hi</p>", "mine")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert client.post("/api/agents/Joker/run", json={"message": "hi"}).json()["response"] == "echo: hi"
