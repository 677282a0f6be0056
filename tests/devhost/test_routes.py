"""Which function a request reaches: paths, templates and constraints as they were recorded from the real host."""

from __future__ import annotations

import azure.functions as func
import pytest

from devhost.errors import RouteError
from devhost.http.routes import BadPathError, RouteTable, build_routes, clean_path, decode_path
from devhost.http.templates import compile_template
from tests.devhost.indexing import index_of


@pytest.mark.behaviour("devhost.paths-as-recorded")
@pytest.mark.parametrize(
    ("sent", "routed"),
    [
        (b"/api/req/a/../b", "/api/req/b"),
        (b"/api/req/a/./b", "/api/req/a/b"),
        (b"/api/req/%2e%2e/b", "/api/b"),
        (b"/../../api", "/api"),
        (b"/api/a.b", "/api/a.b"),
        (b"/api/.hidden", "/api/.hidden"),
        (b"/api/a%00b", None),
        ("/api/é".encode(), None),
    ],
)
def test_dot_segments_are_resolved_before_routing(sent: bytes, routed: str | None) -> None:
    """Encoded dots count as dots; a path cannot leave the root. A NUL or raw non-ASCII is 400 on the real host."""
    if routed is None:
        with pytest.raises(BadPathError):
            clean_path(sent)
    else:
        assert clean_path(sent) == routed


@pytest.mark.behaviour("devhost.paths-as-recorded")
@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("/b%2Fob%20x%C3%A9", "/b%2Fob xé"),
        ("/a%2fb", "/a%2fb"),
        ("/%zz", "/%zz"),
        ("/%ff", "/%ff"),
        ("/a+b;c", "/a+b;c"),
    ],
)
def test_values_are_decoded_except_for_encoded_slashes(sent: str, read: str) -> None:
    """What is no valid code stays as it was sent."""
    assert decode_path(sent) == read


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


@pytest.mark.behaviour("devhost.routes-as-recorded")
@pytest.mark.parametrize(("template", "path", "values"), MATCHES)
def test_a_template_matches_the_paths_that_the_real_host_matched(
    template: str, path: str, values: dict[str, str] | None
) -> None:
    """Values keep the caller's text, absent optional parts are left out, defaults are delivered."""
    assert compile_template(template).match(path) == values


@pytest.mark.behaviour("devhost.routes-as-recorded")
@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("a/{id:whole}", "the constraint 'whole' is unknown"),
        ("a/{id:min(x)}", "the constraint 'min(x)' has unusable arguments"),
        ("a/{id", "an opening brace without its closing one"),
        ("a/{id}/{ID}", "uses a parameter name twice"),
        ("a/{*rest}/b/{c}", "something after its catch-all"),
        ("a/{}", "the unreadable parameter '{}'"),
    ],
)
def test_an_unreadable_template_is_refused_by_a_sentence(template: str, reason: str) -> None:
    with pytest.raises(RouteError) as refusal:
        compile_template(template)
    assert reason in str(refusal.value)


def table(**routes: str) -> RouteTable:
    app = func.FunctionApp()
    for name, route in routes.items():
        verb, _, template = route.partition(" ")
        app.function_name(name)(app.route(route=template, methods=[verb])(lambda req: ""))
    return build_routes(index_of(app), "api")


@pytest.mark.behaviour("devhost.trailing-slash")
@pytest.mark.behaviour("devhost.unmatched-is-404")
def test_a_slash_at_the_end_matches_and_a_catch_all_keeps_it() -> None:
    """As ASP.NET's matcher does: a catch-all is the rest of the path. As recorded, a double slash matches nothing."""
    routes = table(a="GET files/{*rest}", b="GET items/{id}")
    paths = ("/api/files/a/b/", "/api/files/", "/api/files", "/api/items/1/")
    found = [routes.match("GET", path) for path in paths]
    assert [match and match.values for match in found] == [{"rest": "a/b/"}, {}, {}, {"id": "1"}]
    assert [routes.match("GET", path) for path in ("/api/files//a", "/api//files/a")] == [None, None]


@pytest.mark.behaviour("devhost.order-by-upper-cased-name")
def test_functions_share_a_template_by_their_verbs() -> None:
    routes = table(b="GET items/{id}", a="POST items/{id}")
    found = [routes.match(verb, "/api/items/1") for verb in ("GET", "POST", "PUT")]
    assert [match and match.function.name for match in found] == ["b", "a", None]
