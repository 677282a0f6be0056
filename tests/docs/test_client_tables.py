"""The tables of what official clients can use say what is tried, and name all that each client has."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.client_tables import (
    BY_DESIGN,
    COLUMNS,
    MISSING,
    WORKS,
    ClientTable,
    is_test,
    pages,
    table_of,
    tables_of,
)

AIM = 0.9
BELOW_THE_AIM = {"HttpAgent of @ag-ui/client, 1.0.0 and 0.0.59": 0.88, "CopilotKit, 1.75": 0.88}
TABLES = [table for page in pages() for table in tables_of(page)]


@pytest.mark.behaviour("docs.clients")
def test_each_row_says_how_it_stands_and_names_the_tests_that_try_it() -> None:
    """What works has tests that there are; what does not has a reason."""
    wrong = [
        f"{table.client}: {row.feature}"
        for table in TABLES
        for row in table.rows
        if row.here not in (WORKS, BY_DESIGN, MISSING)
        or not row.how
        or (row.here == WORKS) != bool(row.tests)
        or not all(map(is_test, row.tests))
    ]

    assert {tuple(table.columns) for table in TABLES} == {tuple(COLUMNS)}
    assert wrong == []


@pytest.mark.behaviour("docs.clients")
def test_the_figure_below_a_table_is_the_one_counted_and_the_aim_is_met() -> None:
    """Nine of ten features that apply to a hosted agent work, but for the clients that are listed."""
    for table in TABLES:
        works, applies = table.counted()

        assert table.figure == (works, applies), table.client
        assert works >= BELOW_THE_AIM.get(table.client, AIM) * applies, table.client
        assert (table.client in BELOW_THE_AIM) == (works < AIM * applies), table.client


def methods(resource: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the methods of a client's resource under their whole names."""
    for name in dir(resource):
        method = getattr(resource, name)
        if not name.startswith("_") and inspect.ismethod(method):
            yield f"{path}.{name}", method


def names_of(table: ClientTable, *paths: str) -> set[str]:
    """Return the names that OpenAI's client for Python has: methods, and the parameters of those that are served."""
    from openai import OpenAI

    names, client = set[str](), OpenAI(api_key="unused")
    served = {name for row in table.rows if row.here == WORKS for name in row.names}
    for path in paths:
        resource: Any = client
        for part in path.split("."):
            resource = getattr(resource, part)
        for name, method in methods(resource, path):
            names |= {name, *(inspect.signature(method).parameters if name in served else ())}
    return names


@pytest.mark.behaviour("docs.clients")
@pytest.mark.parametrize(
    ("page", "paths"),
    [
        (
            "clients-responses.md",
            ("responses", "responses.input_items", "responses.input_tokens", "conversations", "conversations.items"),
        ),
        ("clients-chat-completions.md", ("chat.completions", "chat.completions.messages", "models")),
    ],
)
def test_no_method_or_parameter_of_openais_client_is_left_out(page: str, paths: tuple[str, ...]) -> None:
    """Of the version that is installed."""
    table = table_of(page, "openai for Python")
    names = names_of(table, *paths)

    assert len(names) > 40
    assert table.unnamed(names) == []
