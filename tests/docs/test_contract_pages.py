"""The pages of the contract name all that the code has, and nothing else."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import re
import shutil
from pathlib import Path

import pytest
from agent_framework import Agent, tool

from hosting.app import AgentFunctionApp
from hosting.core import telemetry
from hosting.core.stores import connection
from hosting.features.feedback import telemetry as feedback_telemetry
from hosting.features.memory import http as memory_http
from hosting.features.memory.http import ShownFact
from hosting.features.overview.operations import REASONS
from hosting.features.overview.routes import OPERATIONS, AgentOperations, StuckThread
from hosting.features.schedules import http as schedules_http
from hosting.features.schedules.http import ShownSchedule
from hosting.features.schedules.requests import SCHEDULE_MEMBERS
from hosting.features.webhooks import http as webhooks_http
from hosting.http.run_call import FIELDS, THREAD_ID_HEADERS, WAIT_HEADER
from hosting.names import entity_name
from hosting.offline.model import OfflineChatClient
from hosting.tools import current
from hosting.upstream import AGENT_OPTIONS, APP_OPTIONS, UpstreamMethods
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import APP, socket_api
from tests.support.declared_routes import ERRORS, OWNED_ROUTES, ROUTES, routes_in
from tests.support.direct import DirectHost
from tests.support.flows import text_flow
from tests.support.made_app import MEMORY, app_of, ask, served, triggers
from tests.support.page_files import SCRIPTS
from tests.support.page_tables import rows
from tests.support.pages import ROOT, code, page, part
from tests.support.receiver import WEBHOOKS
from tests.support.rememberer import rememberer
from tests.support.running_host import RunningHost
from tests.support.shown_rules import promised_rules

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


MOVING = page("docs/guides/moving.md")


def first_column(heading: str) -> list[str]:
    """Return the names in the first column of the table below a heading."""
    rows = re.findall(r"^\| (`[^|]+) \|", part(MOVING, heading), re.MULTILINE)
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


TABLE = part(page("docs/reference/surfaces.md"), "# What you reach where")
ROWS = [tuple(cell.strip() for cell in row.split("|")[1:6]) for row in TABLE.splitlines() if row.startswith("| ")][1:]
SCRIPT = "\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS)


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
    asked = {route: re.search(rf"[/\"`]{word}\b", SCRIPT) is not None for route, word in words.items()}
    paths = [route.split()[1] for route in told]
    writes = [route.split() for route in told if route[:3] != "GET" and paths.count(route.split()[1]) > 1]
    writes += [route.split() for route in told if route.startswith("PATCH ")]
    asked |= {
        f"{verb} {path}": re.search(rf'"{verb}".*{path.split("/")[-1]}\b', SCRIPT) is not None for verb, path in writes
    }
    asked |= {route: f'"{route.split()[0]}", "{route.split()[1]}"' in SCRIPT for route in told if " owners/" in route}

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


OBSERVABILITY = page("docs/guides/observability.md")


def shape(line: str) -> str:
    """Return a line without its ids and numbers."""
    return re.sub(r"\b[0-9a-f]{32}\b|[\d.]+\d|\d", "N", line)


@pytest.mark.slow
@pytest.mark.behaviour("docs.observability")
async def test_an_app_with_the_page_s_set_up_prints_its_spans_and_the_page_s_line(tmp_path: Path) -> None:
    """The block before the app as it is, as the page says."""
    folder = shutil.copytree(APP, tmp_path / "app")
    app = folder / "function_app.py"
    app.write_text(code(OBSERVABILITY, "python")[0] + app.read_text(encoding="utf-8"), encoding="utf-8")

    with RunningHost(folder) as host:
        api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
        await api.ask("hi", thread_id="first")
        await api.http.aclose()
        line = await asyncio.to_thread(host.wait_for, "on thread first: ")
        await asyncio.to_thread(host.stop)
        await asyncio.to_thread(host.wait_for, '"name": "run Joker"')

    assert shape(line[line.index("Run ") :]) == shape(code(OBSERVABILITY, "text")[0].strip())


@pytest.mark.behaviour("docs.observability")
def test_every_attribute_and_metric_stands_on_the_page_and_no_other() -> None:
    shown = set(re.findall(r"^\| `([a-z_.]+\.[a-z_.]+)` \| (?!DEBUG|INFO|WARNING|ERROR)", OBSERVABILITY, re.MULTILINE))
    explained = {"agent.run.attempt.cause", "agent.log.call"}
    events = {"gen_ai.evaluation.result"}
    source = "".join(map(inspect.getsource, (telemetry, feedback_telemetry, connection)))

    assert shown | explained | events == set(
        re.findall(r'"((?:gen_ai|agent\.run|agent\.log|error)\.[a-z_.]+)"', source)
    )
    assert all(f"`{name}`" in OBSERVABILITY for name in explained)


@pytest.mark.behaviour("docs.observability")
def test_every_logger_that_the_page_names_is_a_module_that_logs() -> None:
    """And so is each that warns or tells on purpose."""
    named = set(re.findall(r"^\| `(hosting\.[\w.]+)` \|", OBSERVABILITY, re.MULTILINE))

    assert named
    for name in named:
        assert "logger." in inspect.getsource(importlib.import_module(name))


GLOSSARY = page("docs/reference/glossary.md")


@pytest.mark.behaviour("docs.glossary")
async def test_the_ids_that_the_page_calls_the_same_are_the_same() -> None:
    """In a response, in its headers, and in what a tool and a stream are given."""
    keys = list[str]()

    @tool
    def note() -> str:
        """Note the call."""
        keys.append(current().call_key)
        return "noted"

    app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="Joker", tools=[note])], environ=MEMORY)
    async with served(app) as (host, http):
        assert isinstance(host, DirectHost)
        response = await ask(http, "Call note with {}")
        body, headers = response.json(), response.headers
        events = (await http.get(f"/api/agents/Joker/threads/{body['thread_id']}/runs/{body['run_id']}/events")).text

    (called,) = re.findall(r'event: tool_call\ndata: {"id": "([^"]+)"', events)
    same = re.findall(r"^\| `([\w-]+)`, `([\w-]+)` \| the same", GLOSSARY, re.MULTILINE)
    given = {**body, **headers}
    assert [given[one] == given[other] for one, other in same] == [True] * 3
    assert keys == [f"{body['run_id']}-{called}"]
    assert f"@{entity_name('<agent>')}@<thread_id>" in GLOSSARY


PROMISED = {rule for area in promised_rules().values() for rule in area}


@pytest.mark.behaviour("docs.durability")
@pytest.mark.parametrize(
    ("name", "heading"),
    [("docs/explanation/why-it-is-safe.md", "killed"), ("docs/contributing/crash-points.md", "killed, lost or paused")],
)
def test_each_row_links_a_test_of_a_promise(name: str, heading: str) -> None:
    table = rows(page(name), heading)
    linked = {row[0]: re.findall(r"\]\(\.\./\.\./([^)]+)\)", row[-1]) for row in table}

    assert len(linked) > 10
    for killed, (path,) in linked.items():
        shown = re.findall(r'behaviour\("([\w.-]+)"', (ROOT / path).read_text(encoding="utf-8"))
        assert PROMISED.intersection(shown), killed
