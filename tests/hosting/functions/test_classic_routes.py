"""The user's own classic routes beside the agents': `func.HttpRequest` in, `func.HttpResponse` or text out."""

# mypy: disable-error-code="untyped-decorator"
# (the decorators of the SDK carry no types)
import json
from collections.abc import AsyncIterator

import azure.functions as func
import httpx
import pytest

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.direct import DirectHost

app = AgentFunctionApp(agents=[scripted_agent("Joker")], environ={"AGENT_LOG": "memory"})


@app.function_name("echo")
@app.route(route="echo/{word}", methods=["POST"])
def echo(req: func.HttpRequest) -> func.HttpResponse:
    """Tell what arrived."""
    seen = {
        "word": req.route_params["word"],
        "query": dict(req.params),
        "header": req.headers["X-Mark"],
        "json": req.get_json(),
        "url": req.url,
    }
    return func.HttpResponse(json.dumps(seen), status_code=201, mimetype="application/json", headers={"x-seen": "yes"})


@app.function_name("plain")
@app.route(route="plain", methods=["GET"])
async def plain(req) -> str:  # type: ignore[no-untyped-def]
    """Answer text; a request without annotation is classic."""
    assert isinstance(req, func.HttpRequest)
    return "Grüße"


@pytest.fixture(scope="session")
def host() -> DirectHost:
    """This file's app, indexed: the SDK does that once per app, and a module's tests may run in two pieces."""
    return DirectHost(app)


@pytest.fixture
async def client(host: DirectHost) -> AsyncIterator[httpx.AsyncClient]:
    """A client of this file's app."""
    transport = httpx.ASGITransport(host.asgi)
    async with httpx.AsyncClient(transport=transport, base_url="http://app.example") as client:
        yield client


@pytest.mark.behaviour("hosting.classic-routes")
async def test_a_classic_route_gets_the_request_that_it_expects(client: httpx.AsyncClient) -> None:
    """Route values, query, headers, body and the caller's URL; status, headers and type of its answer go out."""
    answer = await client.post("/api/echo/one?a=1&a=2", json={"k": "v"}, headers={"x-mark": "m"})

    assert (answer.status_code, answer.headers["x-seen"], answer.headers["content-type"]) == (
        201,
        "yes",
        "application/json",
    )
    assert answer.json() == {
        "word": "one",
        "query": {"a": "1,2"},
        "header": "m",
        "json": {"k": "v"},
        "url": "http://app.example/api/echo/one?a=1&a=2",
    }


@pytest.mark.behaviour("hosting.classic-routes")
async def test_an_async_route_without_annotation_may_answer_text(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/plain")

    assert (answer.text, answer.headers["content-type"]) == ("Grüße", "text/plain; charset=utf-8")
