"""Route templates and constraints, with the cases that were recorded from the real host."""

from __future__ import annotations

import pytest

from devhost.errors import RouteError
from devhost.http.templates import compile_template

MATCHES = [
    ("c1/{id:int?}", "c1/5", {"id": "5"}),
    ("c1/{id:int?}", "c1", {}),
    ("c1/{id:int?}", "c1/-5", {"id": "-5"}),
    ("c1/{id:int?}", "C1/5", {"id": "5"}),
    ("c2/{id:int:min(3)}", "c2/3", {"id": "3"}),
    (
        "c3/{g:guid}",
        "c3/6f9619ff-8b86-d011-b42d-00cf4fc964ff",
        {"g": "6f9619ff-8b86-d011-b42d-00cf4fc964ff"},
    ),
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
]

MISMATCHES = [
    ("c1/{id:int?}", "c1/5x"),
    ("c1/{id:int?}", "c1/99999999999"),
    ("c2/{id:int:min(3)}", "c2/2"),
    ("c3/{g:guid}", "c3/x"),
    ("c4/{r:regex(^a.c$)}", "c4/abbc"),
    ("c6/{s:length(2,3)}/{b:bool}", "c6/abcd/true"),
    ("c6/{s:length(2,3)}/{b:bool}", "c6/ab/1"),
    ("c7/{a:alpha}", "c7/ab1"),
    ("c7/{a:alpha}", "c7/é"),
    ("c8/{d:datetime}", "c8/x"),
    ("c11/{n:range(1,9)}", "c11/0"),
    ("c14/{n:int}", "c14/" + "9" * 5000),
    ("lit", "lit/x"),
]


@pytest.mark.behaviour("devhost.routes-as-recorded")
@pytest.mark.parametrize(("template", "path", "values"), MATCHES)
def test_a_template_matches_the_paths_that_the_real_host_matched(template, path, values):
    """Values keep the caller's text, absent optional parts are left out, defaults are delivered."""
    assert compile_template(template).match(path) == values


@pytest.mark.behaviour("devhost.routes-as-recorded")
@pytest.mark.parametrize(("template", "path"), MISMATCHES)
def test_a_template_refuses_the_paths_that_the_real_host_refused(template, path):
    """A failed constraint is no match."""
    assert compile_template(template).match(path) is None


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
def test_an_unreadable_template_is_refused_by_a_sentence(template, reason):
    """The sentence names what is wrong with it."""
    with pytest.raises(RouteError) as refusal:
        compile_template(template)
    assert reason in str(refusal.value)
