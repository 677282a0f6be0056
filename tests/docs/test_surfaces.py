"""What docs/reference/surfaces.md says of the surfaces, compared with what each of them has."""

from __future__ import annotations

import json
import re

import pytest

from hosting.http.run_call import FIELDS
from tests.support.app.scripted import scripted_agent
from tests.support.flows import text_flow
from tests.support.made_app import app_of, triggers
from tests.support.page_files import SCRIPTS
from tests.support.pages import page, part
from tests.support.receiver import WEBHOOKS
from tests.support.rememberer import rememberer

TABLE = part(page("docs/reference/surfaces.md"), "# What you reach where")
ROWS = [tuple(cell.strip() for cell in row.split("|")[1:6]) for row in TABLE.splitlines() if row.startswith("| ")][1:]
PAGE = "\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS)


def names(column: int) -> set[str]:
    """Return what stands in backquotes in a column."""
    return {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[column])}


@pytest.mark.behaviour("docs.surfaces")
def test_the_routes_and_fields_of_the_table_are_those_of_http() -> None:
    """Of which the OpenAPI document has each, as its own tests hold."""
    agents = (scripted_agent("Joker"), rememberer())
    app = app_of(*agents, workflow=text_flow, principal=lambda _: None, environ=WEBHOOKS)
    served = {
        f"{method} {trigger['route']}".replace(f"/{name}/run", "/{name}/run")
        for trigger in triggers(app).values()
        if trigger["type"] == "httpTrigger"
        for method in trigger.get("methods", ())
        for name in ("Joker", text_flow().name)
    }

    assert names(1) - served - {*FIELDS, "Idempotency-Key"} == set()


@pytest.mark.behaviour("docs.surfaces")
def test_the_page_asks_the_routes_of_which_the_table_says_so() -> None:
    """Each found by the last word of its path, a write that shares its path by its verb too; fields by their names."""
    told = {route: row[3] == "yes" for row in ROWS for route in re.findall(r"`([A-Z]+ [^`]+)`", row[1])}
    words = {route: [part for part in re.split(r"[ /]", route) if "{" not in part][-1] for route in told}
    asked = {route: re.search(rf"[/\"`]{word}\b", PAGE) is not None for route, word in words.items()}
    paths = [route.split()[1] for route in told]
    writes = [route.split() for route in told if route[:3] != "GET" and paths.count(route.split()[1]) > 1]
    writes += [route.split() for route in told if route.startswith("PATCH ")]
    asked |= {
        f"{verb} {path}": re.search(rf'"{verb}".*{path.split("/")[-1]}\b', PAGE) is not None for verb, path in writes
    }
    asked |= {route: f'"{route.split()[0]}", "{route.split()[1]}"' in PAGE for route in told if " owners/" in route}

    assert len(told) > 20
    assert asked == told


@pytest.mark.behaviour("docs.surfaces")
def test_an_mcp_tool_has_the_arguments_and_results_of_the_table_and_no_others() -> None:
    """And the tools are the agents and workflows.

    `value` is of an agent with a format of its own, `options` of one that lets callers set some.
    """
    app = app_of(scripted_agent("Joker"), workflow=text_flow, enable_mcp_tool_trigger=True, options={"seed": (0, 1)})
    tools = [one for one in triggers(app).values() if one["type"] == "mcpToolTrigger"]
    taken = {one["propertyName"] for tool in tools for one in json.loads(tool["toolProperties"])}
    given = {name for tool in tools for name in json.loads(tool["outputSchema"])["properties"]}

    assert sorted(tool["toolName"] for tool in tools) == sorted(("Joker", text_flow().name))
    assert names(2) == (taken | given | {"value"}) - {"response", "thread_id", "run_id", "code"}
