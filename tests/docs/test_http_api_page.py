"""The pages of the HTTP contract name all that the code serves, and nothing else."""

from __future__ import annotations

import re

import pytest

from hosting.features.memory import http as memory_http
from hosting.features.memory.http import ShownFact
from hosting.features.overview.operations import REASONS
from hosting.features.overview.routes import OPERATIONS, AgentOperations, StuckThread
from hosting.features.schedules import http as schedules_http
from hosting.features.schedules.http import ShownSchedule
from hosting.features.schedules.requests import SCHEDULE_MEMBERS
from hosting.features.webhooks import http as webhooks_http
from hosting.http.run_call import FIELDS, THREAD_ID_HEADERS, WAIT_HEADER
from tests.support.declared_routes import ERRORS, OWNED_ROUTES, ROUTES, routes_in
from tests.support.pages import page, part

SERVED = {
    "reference/http-routes": ROUTES,
    "guides/security": OWNED_ROUTES,
    "guides/schedules": routes_in(schedules_http),
    "guides/memory": routes_in(memory_http),
    "guides/operations": [OPERATIONS],
    "guides/notifications": routes_in(webhooks_http),
}
SHOWN = {
    "guides/schedules": [*SCHEDULE_MEMBERS, *ShownSchedule.__annotations__],
    "guides/memory": ShownFact.__annotations__,
    "guides/operations": [*StuckThread.__annotations__, *AgentOperations.__annotations__, *REASONS],
    "reference/http-runs": [*FIELDS, *THREAD_ID_HEADERS, WAIT_HEADER],
}
ROUTE = re.compile(r"`([A-Z]+ (?!/)[^`?]+)`")


@pytest.mark.behaviour("docs.error-codes")
def test_the_page_lists_exactly_the_codes_and_statuses_of_the_errors() -> None:
    """`run_pending` is a tool result's code and no HTTP answer's."""
    listed = re.findall(r"^\| `([a-z_]+)` \| (\d*) ?\|", page("docs/reference/http-errors.md"), re.MULTILINE)

    assert set(listed) == {(error.code, str(error.status)) for error in ERRORS} | {("run_pending", "")}


@pytest.mark.behaviour("docs.fields-and-routes")
@pytest.mark.parametrize("name", SERVED)
def test_a_page_has_exactly_its_routes(name: str) -> None:
    """In the first column of its tables, each with its verb."""
    cells = re.findall(r"^\| (`[A-Z]+ .+?`) \|", page(f"docs/{name}.md"), re.MULTILINE)

    assert sorted(ROUTE.findall(" ".join(cells))) == sorted(map(str, SERVED[name]))


@pytest.mark.behaviour("docs.fields-and-routes")
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_names_every_field(name: str) -> None:
    text = page(f"docs/{name}.md")

    assert [field for field in SHOWN[name] if f"`{field}`" not in text] == []


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_table_of_a_run_has_no_field_that_is_not_there() -> None:
    table = part(page("docs/reference/http-runs.md"), "## The request of a run").partition("\n\nThread ids")[0]
    cells = re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE)

    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(FIELDS)
