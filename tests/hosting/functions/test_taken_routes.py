"""Routes of the user's own functions that meet ours, and an app that has nothing to host."""

# mypy: disable-error-code="untyped-decorator"
# (the decorators of the SDK carry no types)
from __future__ import annotations

import azure.functions as func
import pytest

from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of


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
    assert detail.endswith("Give yours another route.")


@pytest.mark.behaviour("hosting.taken-routes-refused")
@pytest.mark.parametrize(
    ("name", "route", "methods"),
    [
        ("mine", "agents", ["POST"]),
        ("mine", "orders/{name}/run", ["POST"]),
        ("zoo", "{*path}", None),
        ("z_run", "agents/{name}/{verb}", ["POST"]),
        ("mine", "agents/{name}", None),
        ("mine", "agents/bob/run", ["GET"]),
        ("mine", "workflows/{id}", None),
    ],
)
def test_a_route_that_leaves_ours_alone_is_the_users_choice(name: str, route: str, methods: list[str] | None) -> None:
    """Another verb, another path, or what ours leave."""
    indexed(name, route, methods)


@pytest.mark.behaviour("hosting.no-agents-warned")
def test_an_app_without_agents_is_warned(capsys: pytest.CaptureFixture[str]) -> None:
    """It starts: its author may be about to add some."""
    app_of().get_functions()
    app_of(scripted_agent("Joker")).get_functions()

    assert capsys.readouterr().err == (
        "This app has no agents. Give agents=[...], or call add_agent(...). See docs/hosting.md.\n"
    )
