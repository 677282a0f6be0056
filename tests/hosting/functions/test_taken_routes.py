"""Routes of the user's own functions: beside ours, in the way of ours, and such that show the engine's URLs."""

from __future__ import annotations

import functools

# (the decorators of the SDK carry no types)
import json
from collections.abc import Callable
from typing import Any

import azure.durable_functions as df

# mypy: disable-error-code="untyped-decorator"
import azure.functions as func
import pytest

from hosting.app import AgentFunctionApp
from hosting.assembly import WIRES
from hosting.errors import ConfigurationError
from hosting.functions.orchestrations import warn_of_management_urls
from tests.support.app.scripted import scripted_agent
from tests.support.flows import FLOWS, text_flow
from tests.support.made_app import app_of, served
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
    ours = {function.get_function_name() for function in app_with("mine").get_functions()} - {"mine"}
    for name in names:
        written = name.swapcase()
        try:
            app = app_with(written)
            async with served(app) as (_, http):
                answers[name] = (await http.get("/api/mine?q=1")).text
        except ConfigurationError as error:
            refused |= {name} if f"{written!r} (test_taken_routes.py, line " in error.detail else set()

    assert refused == ours & names
    assert answers == dict.fromkeys(names - ours, "you sent 1")
    assert {"http_memory", "http-Joker", "agents_schedule_tick", "health_check", "http_page"} <= answers.keys()


@pytest.mark.behaviour("hosting.no-agents-warned")
def test_an_app_without_agents_is_warned(capsys: pytest.CaptureFixture[str]) -> None:
    app_of().get_functions()
    app_of(scripted_agent("Joker")).get_functions()

    assert capsys.readouterr().err == (
        "This app has no agents. Give agents=[...] or call add_agent(...). See docs/reference/hosting.md.\n"
    )


@pytest.mark.behaviour("hosting.classic-routes")
async def test_a_classic_route_gets_the_request_that_it_expects_and_may_answer_text() -> None:
    """Route values, query, headers, body and the caller's URL; status, headers and type of its answer go out."""
    app = app_of(scripted_agent("Joker"))

    @app.function_name("echo")
    @app.route(route="echo/{word}", methods=["POST"])
    def echo(req: func.HttpRequest) -> func.HttpResponse:
        seen = [req.route_params["word"], dict(req.params), req.headers["X-Mark"], req.get_json(), req.url]
        headers = {"x-seen": "yes"}
        return func.HttpResponse(json.dumps(seen), status_code=201, mimetype="application/json", headers=headers)

    @app.function_name("plain")
    @app.route(route="plain", methods=["GET"])
    async def plain(req) -> str:  # type: ignore[no-untyped-def] # a request without annotation is classic
        assert isinstance(req, func.HttpRequest)
        return "Grüße"

    async with served(app) as (_, http):
        echoed = await http.post("/api/echo/one?a=1&a=2", json={"k": "v"}, headers={"x-mark": "m"})
        text = await http.get("/api/plain")

    assert (echoed.status_code, echoed.headers["x-seen"]) == (201, "yes")
    assert echoed.headers["content-type"] == "application/json"
    assert echoed.json() == ["one", {"a": "1,2"}, "m", {"k": "v"}, f"{http.base_url}/api/echo/one?a=1&a=2"]
    assert (text.text, text.headers["content-type"]) == ("Grüße", "text/plain; charset=utf-8")


Handler = Callable[[Any, Any], Any]


def answered(req: Any, client: Any) -> Any:
    """Answer as the SDK's samples do."""
    return client.create_check_status_response(req, "id")


def by_way_of_another(req: Any, client: Any) -> Any:
    """Answer one call further away."""
    return answered(req, client)


def by_a_helper(req: Any, client: Any) -> Any:
    """Call a function that calls one."""
    return by_way_of_another(req, client)


def by_its_name(req: Any, client: Any) -> Any:
    """Ask for the method by a text."""
    return getattr(client, "create_check_status_response")(req, "id")  # noqa: B009


def in_a_circle(req: Any, client: Any) -> Any:
    """Call itself, and nothing that tells: a start is not held up by it."""
    return in_a_circle(str(req), client)


def decorated(handler: Handler) -> Handler:
    """Wrap as a decorator of the app's does, without a trace of what it wraps."""

    def wrapping(req: Any, client: Any) -> Any:
        return handler(req, client)

    return wrapping


@pytest.mark.behaviour("owners.orchestration-state")
@pytest.mark.parametrize(
    ("handler", "count"), [(by_its_name, 1), (by_a_helper, 1), (decorated(answered), 1), (in_a_circle, 0)]
)
def test_a_route_is_named_wherever_in_the_app_the_urls_are_made(
    handler: Handler, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    app = df.DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)

    @functools.wraps(handler)
    def told(req: func.HttpRequest, client: Any) -> Any:
        return handler(req, client)

    told.__annotations__ = {"req": func.HttpRequest}
    app.route(route="told")(app.durable_client_input(client_name="client")(told))
    warn_of_management_urls(app.get_functions())

    said = " answers with management URLs, which hold a key to every conversation."
    assert [said in line for line in capsys.readouterr().err.splitlines()] == [True] * count
