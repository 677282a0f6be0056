"""Which function a request reaches: paths, templates and constraints as they were recorded from the real host."""

from __future__ import annotations

import re

import azure.functions as func
import pytest

from devhost.errors import RouteError
from devhost.http.routes import BadPathError, RouteTable, build_routes, clean_path, decode_path
from devhost.http.templates import compile_template
from tests.devhost.indexing import index_of


@pytest.mark.behaviour("devhost.paths-as-recorded")
def test_paths_are_resolved_and_decoded_as_the_real_host_does() -> None:
    """Encoded dots count as dots; a path cannot leave the root. Encoded slashes and what is no code stay."""
    routed = {
        b"/api/req/a/../b": "/api/req/b",
        b"/api/req/a/./b": "/api/req/a/b",
        b"/api/req/%2e%2e/b": "/api/b",
        b"/../../api": "/api",
        b"/api/.hidden": "/api/.hidden",
    }
    read = {"/b%2Fob%20x%C3%A9": "/b%2Fob xé", "/a%2fb": "/a%2fb", "/%zz": "/%zz", "/%ff": "/%ff", "/a+b;c": "/a+b;c"}

    assert {path: clean_path(path) for path in routed} == routed
    assert {path: decode_path(path) for path in read} == read
    for bad in (b"/api/a%00b", "/api/é".encode()):  # 400 on the real host
        with pytest.raises(BadPathError):
            clean_path(bad)


MATCHES = [
    ("c1/{id:int?}", "c1/5", {"id": "5"}),
    ("c1/{id:int?}", "c1", {}),
    ("c1/{id:int?}", "c1/-5", {"id": "-5"}),
    ("c1/{id:int?}", "C1/5", {"id": "5"}),
    ("c2/{id:int:min(3)}", "c2/3", {"id": "3"}),
    ("c3/{g:guid}", "c3/6f9619ff-8b86-d011-b42d-00cf4fc964ff", {"g": "6f9619ff-8b86-d011-b42d-00cf4fc964ff"}),
    ("c3/{g:guid}", "c3/6f9619ff8b86d011b42d00cf4fc964ff", {"g": "6f9619ff8b86d011b42d00cf4fc964ff"}),
    ("c4/{r:regex(^a.c$)}", "c4/abc", {"r": "abc"}),
    ("c4/{r:regex(^a.c$)}", "c4/ABC", {"r": "ABC"}),
    ("c4/{r:regex(^a{{2}}$)}", "c4/aa", {"r": "aa"}),
    ("c5/{x=dflt}", "c5", {"x": "dflt"}),
    ("c5/{x=dflt}", "c5/y", {"x": "y"}),
    ("c6/{s:length(2,3)}/{b:bool}", "c6/ab/TRUE", {"s": "ab", "b": "TRUE"}),
    ("c7/{a:alpha}", "c7/abC", {"a": "abC"}),
    ("c8/{d:datetime}", "c8/2026-01-01", {"d": "2026-01-01"}),
    ("c8/{d:datetime}", "c8/2026-01-01T00:00:00Z", {"d": "2026-01-01T00:00:00Z"}),
    ("c9/{n:double}", "c9/1.5", {"n": "1.5"}),
    ("c9/{n:double}", "c9/1e3", {"n": "1e3"}),
    ("c9/{n:double}", "c9/1,5", {"n": "1,5"}),
    ("c10/{a}-{b}.{ext?}", "c10/x-y.z", {"a": "x", "b": "y", "ext": "z"}),
    ("c10/{a}-{b}.{ext?}", "c10/x-y", {"a": "x", "b": "y"}),
    ("c10/{a}-{b}.{ext?}", "c10/x-y-w.z", {"a": "x-y", "b": "w", "ext": "z"}),
    ("c11/{n:range(1,9)}", "c11/9", {"n": "9"}),
    ("c13/{n:long}/x/{*rest}", "c13/9999999999/x", {"n": "9999999999"}),
    ("c13/{n:long}/x/{*rest}", "c13/1/x/a/b", {"n": "1", "rest": "a/b"}),
    ("lit", "LIT", {}),
    ("c1/{id:int?}", "c1/5x", None),
    ("c1/{id:int?}", "c1/99999999999", None),
    ("c2/{id:int:min(3)}", "c2/2", None),
    ("c3/{g:guid}", "c3/x", None),
    ("c4/{r:regex(^a.c$)}", "c4/abbc", None),
    ("c6/{s:length(2,3)}/{b:bool}", "c6/abcd/true", None),
    ("c6/{s:length(2,3)}/{b:bool}", "c6/ab/1", None),
    ("c7/{a:alpha}", "c7/ab1", None),
    ("c7/{a:alpha}", "c7/é", None),
    ("c8/{d:datetime}", "c8/x", None),
    ("c11/{n:range(1,9)}", "c11/0", None),
    ("c11/{n:range(1,9)}", "c11/10", None),
    ("c14/{n:int}", "c14/" + "9" * 5000, None),
    ("lit", "lit/x", None),
]
"""A template, a path, and the values, or None where the real host refused the path."""


UNREADABLE = {
    "a/{id:whole}": "the constraint 'whole' is unknown",
    "a/{id:min(x)}": "the constraint 'min(x)' has unusable arguments",
    "a/{id": "an opening brace without its closing one",
    "a/{id}/{ID}": "uses a parameter name twice",
    "a/{*rest}/b/{c}": "something after its catch-all",
    "a/{}": "the unreadable parameter '{}'",
}


@pytest.mark.behaviour("devhost.routes-as-recorded")
def test_a_template_matches_the_paths_that_the_real_host_matched() -> None:
    """Values keep the caller's text, absent optional parts are left out, defaults are delivered."""
    assert [compile_template(template).match(path) for template, path, _ in MATCHES] == [each[2] for each in MATCHES]
    for template, reason in UNREADABLE.items():
        with pytest.raises(RouteError, match=re.escape(reason)):
            compile_template(template)


def table(**routes: str) -> RouteTable:
    app = func.FunctionApp()
    for name, route in routes.items():
        verb, _, template = route.partition(" ")
        app.function_name(name)(app.route(route=template, methods=[verb])(lambda req: ""))
    return build_routes(index_of(app), "api")


@pytest.mark.behaviour("devhost.trailing-slash")
@pytest.mark.behaviour("devhost.unmatched-is-404")
@pytest.mark.behaviour("devhost.order-by-upper-cased-name")
def test_a_slash_at_the_end_matches_and_a_catch_all_keeps_it() -> None:
    """As ASP.NET's matcher does. A double slash matches nothing (recorded). Verbs part functions of one template."""
    routes = table(a="GET files/{*rest}", b="GET items/{id}", c="POST items/{id}")
    paths = ("/api/files/a/b/", "/api/files/", "/api/files", "/api/items/1/")
    found = [routes.match("GET", path) for path in paths]
    named = [routes.match(verb, "/api/items/1") for verb in ("GET", "POST", "PUT")]

    assert [match and match.values for match in found] == [{"rest": "a/b/"}, {}, {}, {"id": "1"}]
    assert [routes.match("GET", path) for path in ("/api/files//a", "/api//files/a")] == [None, None]
    assert [match and match.function.name for match in named] == ["b", "c", None]
