"""moving.md: its tables have every option and method of Microsoft's package, released or next, that an app may use."""

from __future__ import annotations

import inspect
import re

import pytest

from hosting.app import AgentFunctionApp
from hosting.upstream import AGENT_OPTIONS, APP_OPTIONS, UpstreamMethods
from tests.support.pages import page, part

PAGE = page("docs/guides/moving.md")


def first_column(heading: str) -> list[str]:
    """Return the names in the first column of the table below a heading."""
    rows = re.findall(r"^\| (`[^|]+) \|", part(PAGE, heading), re.MULTILINE)
    return re.findall(r"`(\w+)`", " ".join(rows))


def shared(method: object) -> set[str]:
    """Return the parameters that may be given by position: they have the order of the package's, and come first."""
    parameters = inspect.signature(method).parameters.values()  # type: ignore[arg-type]
    return {each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD} - {"self"}


@pytest.mark.behaviour("docs.moving")
@pytest.mark.parametrize(
    ("heading", "taken"),
    [
        ("## Options of the app", shared(AgentFunctionApp.__init__) | APP_OPTIONS.keys()),
        ("## Options of an agent", shared(AgentFunctionApp.add_agent) | AGENT_OPTIONS.keys()),
    ],
)
def test_the_tables_have_exactly_the_options_that_are_taken(heading: str, taken: set[str]) -> None:
    names = [name for name in first_column(heading) if name not in ("AgentFunctionApp", "add_agent")]

    assert sorted(names) == sorted(taken)


@pytest.mark.behaviour("docs.moving")
def test_the_table_of_methods_has_those_of_the_package() -> None:
    """Those that do nothing here, and those that do the same."""
    names = set(first_column("## Methods"))

    assert {name for name in vars(UpstreamMethods) if not name.startswith("_")} <= names
    assert {name for name in names if hasattr(AgentFunctionApp, name)} == names - {"workflow", "workflows"}
