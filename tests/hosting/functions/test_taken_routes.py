"""Routes of the user's own functions that meet ours, and an app that has nothing to host."""

# mypy: disable-error-code="untyped-decorator"
# (the decorators of the SDK carry no types)
from __future__ import annotations

import azure.functions as func
import httpx
import pytest

from hosting.app import AgentFunctionApp
from hosting.assembly import WIRES
from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.direct import DirectHost
from tests.support.flows import FLOWS, text_flow
from tests.support.made_app import app_of
from tests.support.receiver import WEBHOOKS
from tests.support.rememberer import rememberer


def indexed(name: str, route: str, methods: list[str] | None) -> None:
    """Index an app with one agent and one function of the user's own."""
    app = app_of(scripted_agent("Joker"))

    @app.function_name(name)
    @app.route(route=route, methods=methods)
    def mine(req: func.HttpRequest) -> str:
        return ""

    app.get_functions()


@pytest.mark.behaviour("hosting.taken-routes-refused")
@pytest.mark.parametrize(
    ("name", "route", "methods", "ours"),
    [
        ("mine", "agents", ["GET"], "http_agents"),
        ("mine", "Agents/{who}/threads", None, "http_threads"),
        ("mine", "agents/joker/run", ["POST"], "http-Joker"),
        ("z_zzz", "agents/bob/run", ["GET"], "z_unknown_agent"),
        ("z_zzz", "workflows", None, "z_unknown_workflow"),
        ("all", "{*path}", None, "health_check"),
        ("a_run", "agents/{name}/{verb}", ["POST"], "http-Joker"),
        ("health", "health", ["GET"], "health_check"),
    ],
)
def test_a_route_that_would_take_our_requests_or_get_none_is_refused(
    name: str, route: str, methods: list[str] | None, ours: str
) -> None:
    """Both functions are named, the user's with its line, and what to do."""
    with pytest.raises(ConfigurationError) as refused:
        indexed(name, route, methods)

    detail = refused.value.detail
    assert f"{route!r} of your function {name!r} (test_taken_routes.py, line " in detail
    assert f"this library's function {ours!r}" in detail
    assert detail.endswith("Change your route.")


@pytest.mark.behaviour("hosting.taken-routes-refused")
@pytest.mark.parametrize(
    ("name", "route", "methods"),
    [
        ("mine", "agents", ["POST"]),
        ("mine", "orders/{name}/run", ["POST"]),
        ("zoo", "{*path}", None),
        ("z_run", "agents/{name}/{verb}", ["POST"]),
        ("mine", "agents/{name}", ["POST"]),
        ("mine", "agents/bob/run", ["GET"]),
        ("mine", "workflows/{id}", ["POST"]),
    ],
)
def test_a_route_that_leaves_ours_alone_is_the_users_choice(name: str, route: str, methods: list[str] | None) -> None:
    indexed(name, route, methods)


def app_with(name: str) -> AgentFunctionApp:
    """Return an app with as little as can be, and a function of the user's own that has this name."""
    app = AgentFunctionApp(
        agents=[scripted_agent("Joker")],
        enable_health_check=False,
        enable_http_endpoints=False,
        enable_page=False,
        environ={"AGENT_LOG": "memory", "AGENT_SCHEDULES": "0"},
    )

    @app.function_name(name)
    @app.route(route="mine", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
    def mine(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(f"you sent {req.params.get('q')}")

    return app


def names_of_everything() -> set[str]:
    """Return the names of all functions of an app that has whatever an app can have."""
    app = app_of(
        scripted_agent("Joker"),
        rememberer(),
        workflows=FLOWS,
        principal=lambda request: None,
        wires=[*WIRES],
        enable_page=True,
        enable_mcp_tool_trigger=True,
        environ={"AGENT_LOG": "memory", **WEBHOOKS},
    )
    app.add_agent(scripted_agent("Brief"), ttl_seconds=60)
    app.orchestration_status_route()
    single = app_of(scripted_agent("Joker"), workflow=text_flow)
    return {function.get_function_name() for each in (app, single) for function in each.get_functions()}


@pytest.mark.slow
@pytest.mark.behaviour("hosting.names-free")
async def test_a_name_of_ours_is_refused_where_the_app_has_it_and_free_where_it_has_not() -> None:
    """Whatever it is of: routes, wires, timers, clocks, entities, an agent's own. A host compares without case."""
    names, refused, answers = names_of_everything(), set[str](), dict[str, str]()
    served = {function.get_function_name() for function in app_with("mine").get_functions()} - {"mine"}
    for name in names:
        for written in (name, name.swapcase()):
            try:
                host = DirectHost(app_with(written))
            except ConfigurationError as error:
                refused |= {name} if f"{written!r} (test_taken_routes.py, line " in error.detail else set()
                continue
            transport = httpx.ASGITransport(host.asgi, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://app.example") as client:
                answers[name] = (await client.get("/api/mine?q=1")).text

    assert refused == served & names
    assert answers == dict.fromkeys(names - served, "you sent 1")
    assert {"http_memory", "http-Joker", "agents_schedule_tick", "health_check", "http_page"} <= answers.keys()


@pytest.mark.behaviour("hosting.no-agents-warned")
def test_an_app_without_agents_is_warned(capsys: pytest.CaptureFixture[str]) -> None:
    app_of().get_functions()
    app_of(scripted_agent("Joker")).get_functions()

    assert capsys.readouterr().err == (
        "This app has no agents. Give agents=[...] or call add_agent(...). See docs/reference/hosting.md.\n"
    )
