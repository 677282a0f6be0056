"""The page of the HTTP contract names all that the code serves, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hosting.errors import REQUEST_ERRORS, RUN_ERRORS
from hosting.requests import FIELDS, THREAD_ID_HEADERS, WAIT_HEADER
from hosting.routes import ROUTES, Route

PAGE = (Path(__file__).parents[2] / "docs" / "http-api.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z_]+)` \| (\d*) ?\|", PAGE, flags=re.MULTILINE)


@pytest.mark.behaviour("docs.error-codes")
def test_the_page_lists_exactly_the_codes_and_statuses_of_the_errors() -> None:
    """`run_pending` is a tool result's code and no HTTP answer's."""
    served = {(error.code, str(error.status)) for error in (*REQUEST_ERRORS, *RUN_ERRORS)}
    assert set(ROWS) == served | {("run_pending", "")}


@pytest.mark.behaviour("docs.fields-and-routes")
@pytest.mark.parametrize("name", sorted({*FIELDS, *THREAD_ID_HEADERS, WAIT_HEADER}))
def test_the_page_names_every_field_and_header(name: str) -> None:
    """In backquotes, as a reader searches for it."""
    assert f"`{name}`" in PAGE


@pytest.mark.behaviour("docs.fields-and-routes")
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_the_page_names_every_route(route: Route) -> None:
    """With its verb."""
    assert f"`{route}`" in PAGE
