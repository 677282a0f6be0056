"""The pages of the HTTP contract name all that the code serves, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hosting.features.memory import http as memory_http
from hosting.features.memory.http import ShownFact
from hosting.features.overview.operations import REASONS
from hosting.features.overview.routes import OPERATIONS, AgentOperations, Operations, StuckThread
from hosting.features.schedules import http as schedules_http
from hosting.features.schedules.http import ShownSchedule
from hosting.features.schedules.requests import SCHEDULE_MEMBERS
from hosting.functions.orchestrations import ORCHESTRATION
from hosting.http.run_call import FIELDS, THREAD_ID_HEADERS, WAIT_HEADER
from tests.support.declared_routes import ERRORS, OWNED_ROUTES, ROUTES, routes_in

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "http-runs.md").read_text(encoding="utf-8")
ROUTED = (Path(__file__).parents[2] / "docs" / "reference" / "http-routes.md").read_text(encoding="utf-8")
FAILED = (Path(__file__).parents[2] / "docs" / "reference" / "http-errors.md").read_text(encoding="utf-8")
SECURITY = (Path(__file__).parents[2] / "docs" / "guides" / "security.md").read_text(encoding="utf-8")
SCHEDULES = (Path(__file__).parents[2] / "docs" / "guides" / "schedules.md").read_text(encoding="utf-8")
OPERATED = (Path(__file__).parents[2] / "docs" / "guides" / "operations.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z_]+)` \| (\d*) ?\|", FAILED, flags=re.MULTILINE)


@pytest.mark.behaviour("docs.error-codes")
def test_the_page_lists_exactly_the_codes_and_statuses_of_the_errors() -> None:
    """`run_pending` is a tool result's code and no HTTP answer's."""
    served = {(error.code, str(error.status)) for error in ERRORS}
    assert set(ROWS) == served | {("run_pending", "")}


@pytest.mark.behaviour("docs.error-codes")
def test_the_codes_stand_by_status() -> None:
    """Whoever looks one up finds it; that of no HTTP answer is the last."""
    assert sorted(ROWS, key=lambda row: (row[1] or "last", row[0])) == ROWS


@pytest.mark.behaviour("docs.fields-and-routes")
@pytest.mark.parametrize("name", sorted({*FIELDS, *THREAD_ID_HEADERS, WAIT_HEADER}))
def test_the_page_names_every_field_and_header(name: str) -> None:
    """In backquotes, as a reader searches for it."""
    assert f"`{name}`" in PAGE


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_page_has_exactly_the_routes() -> None:
    """In its table, each with its verb."""
    listed = re.findall(r"^\| `([A-Z]+ [^`?]+)` \|", ROUTED, flags=re.MULTILINE)
    assert sorted(listed) == sorted(str(route) for route in ROUTES)


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_page_about_owners_has_exactly_their_routes() -> None:
    """Those of a shared thread are a thread's own, below `shared/{grant}`."""
    listed = re.findall(r"^\| `([A-Z]+ [^`?]+)` \|", SECURITY, flags=re.MULTILINE)
    assert sorted(listed) == sorted(str(route) for route in OWNED_ROUTES)
    assert "shared/{grant}" in SECURITY
    assert ORCHESTRATION.path in SECURITY


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_page_has_exactly_the_fields() -> None:
    """In the table of the request of a run; a name that no field has is in none of its rows."""
    table = PAGE.partition("## The request of a run")[2].partition("\n\nThread ids")[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", table, flags=re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(FIELDS)


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_page_about_schedules_has_exactly_their_routes_and_fields() -> None:
    """And what it shows of a schedule besides."""
    listed = re.findall(r"^\| `([A-Z]+ [^`?]+)` \|", SCHEDULES, flags=re.MULTILINE)
    assert sorted(listed) == sorted(str(route) for route in routes_in(schedules_http))
    assert [name for name in SCHEDULE_MEMBERS if f"| `{name}` |" not in SCHEDULES] == []
    assert [name for name in ShownSchedule.__annotations__ if f"`{name}`" not in SCHEDULES] == []


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_page_about_memories_has_exactly_their_routes_and_fields() -> None:
    """And what it shows of a fact."""
    page = (Path(__file__).parents[2] / "docs" / "guides" / "memory.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([A-Z]+ [^`?]+)` \|", page, flags=re.MULTILINE)

    assert sorted(listed) == sorted(str(route) for route in routes_in(memory_http))
    assert [name for name in ShownFact.__annotations__ if f"`{name}`" not in page] == []


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_page_about_operations_has_its_route_and_exactly_its_fields() -> None:
    """In its tables."""
    listed = re.findall(r"^\| `([A-Z]+ [^`?]+)` \|", OPERATED, flags=re.MULTILINE)
    rows = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", OPERATED, flags=re.MULTILINE)
    fields = {*Operations.__annotations__, *AgentOperations.__annotations__, *REASONS, "code"} - {"agents", "stuck"}
    assert listed == [str(OPERATIONS)]
    assert [name for name in StuckThread.__annotations__ if f"`{name}`" not in OPERATED] == []
    assert sorted(re.findall(r"`([a-z_]+)`", " ".join(rows))) == sorted(fields)
