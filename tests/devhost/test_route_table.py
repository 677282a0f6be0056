"""Which function a request reaches."""

from __future__ import annotations

import azure.functions as func
import pytest

from devhost.http.routes import RouteTable, build_routes
from tests.devhost.indexing import index_of


def table(**routes: str) -> RouteTable:
    app = func.FunctionApp()
    for name, route in routes.items():
        verb, _, template = route.partition(" ")
        app.function_name(name)(app.route(route=template, methods=[verb])(lambda req: ""))
    return build_routes(index_of(app), "api")


@pytest.mark.behaviour("devhost.unmatched-is-404")
def test_a_double_slash_matches_nothing_not_even_a_catch_all():
    """As recorded."""
    routes = table(f="GET files/{*rest}")
    assert [routes.match("GET", path) for path in ("/api/files//a", "/api//files/a")] == [None, None]


@pytest.mark.behaviour("devhost.trailing-slash")
def test_a_slash_at_the_end_matches_and_a_catch_all_keeps_it():
    """As ASP.NET's matcher does: a catch-all is the rest of the path, other values are segments."""
    routes = table(a="GET files/{*rest}", b="GET items/{id}")
    paths = ("/api/files/a/b/", "/api/files/", "/api/files", "/api/items/1/")
    assert [routes.match("GET", path).values for path in paths] == [{"rest": "a/b/"}, {}, {}, {"id": "1"}]


@pytest.mark.behaviour("devhost.order-by-upper-cased-name")
def test_functions_share_a_template_by_their_verbs():
    """A verb is one more constraint of the route."""
    routes = table(b="GET items/{id}", a="POST items/{id}")
    assert [routes.match(verb, "/api/items/1").function.name for verb in ("GET", "POST")] == ["b", "a"]
    assert routes.match("PUT", "/api/items/1") is None
