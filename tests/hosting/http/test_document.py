"""The document of an app, asked of the app itself: what it serves, no more and no less."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from typing import Any

import azure.functions as func
import httpx
import pytest

from hosting.app import AgentFunctionApp, Limit
from hosting.assembly import WIRES
from hosting.errors import (
    MethodNotAllowedError,
    RunIdReusedError,
    UnknownRouteError,
)
from hosting.features.a2a.names import CARD, RPC
from hosting.features.ag_ui.names import RUN
from hosting.features.ai_sdk import names as ai_sdk
from hosting.features.chat_completions import names as chat
from hosting.features.mcp_endpoint import names as mcp
from hosting.features.responses.names import NOT_SERVED, OPERATIONS
from hosting.features.uploads.openai_routes import OPERATIONS as FILE_OPERATIONS
from hosting.http.parameters import in_path
from hosting.http.places import AGENT, APP
from hosting.http.route import Route
from hosting.http.run_call import FIELDS, THREAD_ID_HEADERS, WAIT_HEADER
from hosting.http.wire import operation_id
from tests.support.app.scripted import scripted_agent
from tests.support.declared_routes import ERRORS
from tests.support.direct import DirectHost
from tests.support.flows import FLOWS, text_flow
from tests.support.receiver import WEBHOOKS
from tests.support.rememberer import rememberer

FACT_ID = in_path("fact_id", "The fact.")


def make_app(*names: str, environ: dict[str, str] | None = None, **options: Any) -> AgentFunctionApp:
    agents = [scripted_agent(name) for name in names]
    return AgentFunctionApp(agents=agents, environ={"AGENT_LOG": "memory", **(environ or {})}, **options)


async def ask(host: DirectHost, prefix: str = "/api", **headers: str) -> dict[str, Any]:
    transport = httpx.ASGITransport(host.asgi)
    async with httpx.AsyncClient(transport=transport, base_url="http://app.example") as client:
        answer = await client.get(f"{prefix}/openapi.json", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    return dict(answer.json())


def document_of(*names: str, environ: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
    """Return the document of an app of agents of these names."""
    return asyncio.run(ask(DirectHost(make_app(*names, environ=environ, **options))))


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


NO_ROUTES = {"z_unknown_agent", "z_unknown_workflow", "http_page"}
"""No part of the contract: the answer to routes that nobody has, and what a browser shows."""


def triggers(host: DirectHost) -> dict[str, str]:
    """Return the function behind each verb and route that the app has registered, read from its bindings."""
    return {
        f"{method} /{binding['route']}": name
        for name, bindings in host.bindings.items()
        for binding in bindings
        if binding["type"] == "httpTrigger"
        for method in binding.get("methods", ["any"])
    }


EVERYTHING: dict[str, Any] = {
    "workflows": FLOWS,
    "principal": lambda request: None,
    "environ": WEBHOOKS,
    "wires": [*WIRES],
}


@cache
def app_of_everything() -> tuple[DirectHost, dict[str, Any]]:
    """Return an app with all that there is, and its document: both are made once for all tests that change nothing."""
    app = make_app("Joker", "Poet", **EVERYTHING)
    app.add_agent(rememberer())
    app.orchestration_status_route()
    host = DirectHost(app)
    return host, asyncio.run(ask(host))


@pytest.mark.behaviour("openapi.exact")
@pytest.mark.parametrize("has_everything", [False, True])
def test_the_document_has_the_routes_that_are_registered(*, has_everything: bool) -> None:
    """Verb, path and function; behind the one route of a wire it has those of the wire."""
    plain = DirectHost(make_app("Joker", "Poet", enable_health_check=False, workflow=text_flow))
    host, document = app_of_everything() if has_everything else (plain, asyncio.run(ask(plain)))
    registered = {place: name for place, name in triggers(host).items() if name not in NO_ROUTES}
    wires = {place.partition(" ")[2].removesuffix("{*path}") for place in registered if place.endswith("{*path}")}

    described = {place: each["operationId"] for place, each in operations(document).items()}

    assert len(wires) == (len(WIRES) if has_everything else 0)
    assert [place for place in described.keys() - registered.keys() if not any(wire in place for wire in wires)] == []
    assert {place: described.get(place) for place in registered if not place.endswith("{*path}")} == {
        place: name for place, name in registered.items() if not place.endswith("{*path}")
    }


@pytest.mark.behaviour("openapi.parameters")
def test_no_route_can_be_made_whose_path_and_parameters_differ() -> None:
    """So none can be registered. An agent's name is described with the agents of the app."""
    for path, parameters in [
        ("facts/{fact_id}", ()),
        ("agents/{name}/{fact_id}/{part}", (FACT_ID,)),
        ("facts", (FACT_ID,)),
    ]:
        with pytest.raises(ValueError, match="Give each part of the path its own"):
            Route("facts", "GET", APP.below(path, *parameters), "Read", ())

    assert Route("fact", "GET", AGENT.below("{fact_id}", FACT_ID), "Read", ()).path_names


@pytest.mark.behaviour("openapi.wires")
def test_the_wires_that_the_app_names_are_in_it() -> None:
    """With all that each serves: what the wire itself finds at that path, and no operation that it always refuses."""
    plain, wired = operations(document_of("Joker")), operations(document_of("Joker", wires=[*WIRES]))
    described = {place: each for place, each in wired.items() if place not in plain}
    routes = (
        {*OPERATIONS, *FILE_OPERATIONS, *chat.OPERATIONS, *ai_sdk.OPERATIONS, *mcp.OPERATIONS, RPC, CARD, RUN}
        - NOT_SERVED.keys()
        - chat.NOT_SERVED.keys()
    )

    assert all(wired[place] == each for place, each in plain.items())
    assert {place: each["operationId"] for place, each in described.items()} == {
        f"{route.method} /{route.path}": operation_id(route) for route in routes
    }
    assert len({each["operationId"] for each in wired.values()}) == len(wired)


@pytest.mark.behaviour("openapi.exact")
def test_every_link_leads_to_an_operation_of_the_same_kind() -> None:
    """A run of an agent to the routes of agents, a workflow's to those of workflows, a shared thread's to its own.

    What a link takes of the request's path is in that path, and it says all that the operation asks for, but for what
    the caller chooses.
    """
    described = operations(app_of_everything()[1])
    by_id = {operation["operationId"]: place.partition(" /")[2] for place, operation in described.items()}
    links = [
        (place.partition(" /")[2], by_id[link["operationId"]], link["parameters"])
        for place, operation in described.items()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]

    assert {(path.partition("/")[0], end.partition("/")[0]) for path, end, _ in links} == {
        (kind, kind) for kind in ("agents", "workflows", "workflow", "shared")
    }
    for path, end, values in links:
        taken = {value.rpartition(".")[2] for value in values.values() if value.startswith("$request.path.")}
        assert taken <= set(re.findall(r"\{(\w+)\}", path)), (path, end)
        assert set(re.findall(r"\{(\w+)\}", end)) - set(values) <= {"approval_id", "standing_id", "file_id"}, (
            path,
            end,
        )


@pytest.mark.behaviour("openapi.exact")
async def test_the_server_is_the_one_that_the_caller_reached() -> None:
    host = DirectHost(make_app("Joker"), prefix="/v2/ai")

    forwarded = {"x-forwarded-proto": "https", "x-forwarded-host": "example.org"}

    assert (await ask(host, "/v2/ai"))["servers"] == [{"url": "http://app.example/v2/ai"}]
    assert (await ask(host, "/v2/ai", **forwarded))["servers"] == [{"url": "https://example.org/v2/ai"}]


@pytest.mark.behaviour("openapi.exact")
@pytest.mark.parametrize("level", [func.AuthLevel.ANONYMOUS, func.AuthLevel.FUNCTION])
def test_what_asks_for_a_key_says_so(level: func.AuthLevel) -> None:
    """All but health, unless the app is open; as the bindings say it."""
    host = DirectHost(make_app("Joker", http_auth_level=level))
    closed = {
        binding["route"]
        for bindings in host.bindings.values()
        for binding in bindings
        if binding["type"] == "httpTrigger" and binding["authLevel"].lower() != "anonymous"
    } - {"agents/{*path}", "workflows/{*path}"}

    described = operations(asyncio.run(ask(host)))

    assert {place.split(" /")[1] for place, each in described.items() if "security" in each} == closed
    assert all(("401" in each["responses"]) == ("security" in each) for each in described.values())


@pytest.mark.behaviour("openapi.complete")
def test_every_field_header_and_code_of_the_contract_is_in_it() -> None:
    """405 and `unknown_route` belong to what is no operation; the rest is a refusal of one of the routes."""
    described = operations(app_of_everything()[1])
    run = described["POST /agents/Joker/run"]
    schema = run["requestBody"]["content"]["application/json"]["schema"]
    contract = [each for place, each in described.items() if not place.partition(" /")[2].startswith(OF_WIRES)]
    codes = {code for each in contract for response in each["responses"].values() for code in codes_of(response)}

    assert set(schema["properties"]) == set(FIELDS)
    assert {*THREAD_ID_HEADERS, WAIT_HEADER} <= {each["name"] for each in run["parameters"]}
    assert codes == {error.code for error in ERRORS} - {
        MethodNotAllowedError.code,
        UnknownRouteError.code,
        RunIdReusedError.code,
    }


OF_WIRES = ("a2a/", "ag-ui/", "ai-sdk/", "chat/", "mcp/", "openai/")


def codes_of(response: dict[str, Any]) -> list[str]:
    problem = response.get("content", {}).get("application/problem+json")
    return list(problem["schema"]["allOf"][1]["properties"]["code"]["enum"]) if problem else []


@pytest.mark.behaviour("openapi.exact")
def test_the_schemas_are_those_to_which_its_operations_refer() -> None:
    """None is of a route that another app has."""
    for document in (app_of_everything()[1], document_of("Joker", enable_http_endpoints=False)):
        schemas, left, used = document["components"]["schemas"], [document["paths"]], set[str]()
        while left:
            parts = parts_of(left.pop())
            names = {part["$ref"].rpartition("/")[2] for part in parts if isinstance(part.get("$ref"), str)}
            left += (schemas[name] for name in names - used)
            used |= names
        assert used == set(schemas)


@pytest.mark.behaviour("openapi.exact")
def test_a_shared_thread_of_a_workflow_is_described_where_there_are_no_agents() -> None:
    """It has the routes of a shared thread, and its run is one of a workflow: a limit on these is one on it."""
    options: dict[str, Any] = {"workflows": FLOWS, "principal": lambda _: None, "limit": Limit(runs_at_once=1)}
    host = DirectHost(make_app(**options))
    document = operations(asyncio.run(ask(host)))

    shared = {place for place in document if place.partition(" /")[2].startswith("shared/")}
    assert shared == {place for place in triggers(host) if place.partition(" /")[2].startswith("shared/")}
    assert "RateLimit" in document["POST /shared/{grant}/run"]["responses"]["200"]["headers"]


def parts_of(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [part for each in inner for part in parts_of(each)]
    return [value, *found] if isinstance(value, dict) else found
