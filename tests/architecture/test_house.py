"""Who may import whom: the floors of hosting/, and the walls between the packages."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from graphlib import TopologicalSorter

import pytest

from tests.architecture.house import CORE, FEATURES_BELOW, HOSTING, STILL_KNOWN, House
from tests.architecture.imports import ROOT, import_graph, imports_of, module_name, product_files
from tests.support.pages import page

OWN = {"agents", "hosting", "state", "function_app"}
OF_THE_TRIAL = {"conformance", "httpx"}
HOUSES = pytest.mark.parametrize("house", [HOSTING, CORE], ids=lambda house: house.package)


@HOUSES
@pytest.mark.behaviour("hosting.import-levels")
def test_a_house_has_the_rooms_and_files_that_are_drawn(house: House) -> None:
    """A new one is put on its floor here, by whoever adds it."""
    rooms = {path.parent.name for path in house.folder.glob("*/__init__.py")}
    files = {path.stem for path in house.folder.glob("*.py")} - {"__init__"}

    assert (rooms, files) == (house.rooms, house.files)


@pytest.mark.behaviour("hosting.import-levels")
def test_the_page_draws_the_house_as_it_is() -> None:
    """Each floor of docs/explanation/architecture.md, by its number, has the rooms and files that stand on it."""
    drawn = re.findall(
        r'subgraph f(\d) \["[^"]*"\]\n(.*?)\n    end', page("docs/explanation/architecture.md"), re.DOTALL
    )
    floors = {int(number): set(re.findall(r"\b[a-z_]+\b", re.sub(r"\w+\[", "", text))) for number, text in drawn}

    assert floors == {number: set(names) for number, names in enumerate(HOSTING.floors)}


@HOUSES
@pytest.mark.behaviour("hosting.import-levels")
def test_every_arrow_of_a_house_leads_down(house: House) -> None:
    """None up, and none to a room on the same floor. Each line that fails here is the import to mend."""
    upward = (arrow for arrow in house.arrows() if not arrow.is_down)

    assert "\n".join(str(arrow) for arrow in upward if module_name(arrow.path) not in STILL_KNOWN) == ""


@pytest.mark.behaviour("hosting.core-alone")
def test_the_core_knows_no_feature_and_no_room_above() -> None:
    """Values that both need stand below. What still knows one is listed, and goes from the list with its import."""
    graph = import_graph()
    beyond = {name for name in graph if name.startswith("hosting.") and not name.startswith("hosting.core")}
    ground = {f"hosting.{name}" for name in set(HOSTING.floors[0] + HOSTING.floors[1]) - FEATURES_BELOW}
    above = beyond - {name for name in beyond if ".".join(name.split(".")[:2]) in ground}

    assert {
        name: imported & above
        for name, imported in graph.items()
        if name.startswith("hosting.core") and imported & above
    } == STILL_KNOWN


def test_the_log_of_a_thread_knows_no_time_and_waits_for_nothing() -> None:
    """Its events have their times from whoever appends them, so that what they fold to is the same everywhere."""
    imported = {name for path in (CORE.folder / "thread").glob("*.py") for name in imports_of(path)}

    assert imported & {"asyncio", "datetime", "os", "random", "threading", "time"} == set()


def test_the_time_of_day_is_read_by_a_clock_that_was_given() -> None:
    """Two clocks in one answer would not agree, and a test moves the one."""
    sources = (ROOT / "hosting").rglob("*.py")

    assert [
        path.name for path in sources if re.search(r"\btime\.time\(|datetime\.now\(", path.read_text("utf-8"))
    ] == []


@pytest.mark.behaviour("hosting.import-levels")
def test_the_durable_task_sdk_is_imported_for_the_console_and_the_sdk_that_builds_on_it() -> None:
    """An app on the Durable Functions SDK 1.7 needs nothing of it."""
    users = {name for name in importers({"durabletask", "grpc"}) if name.startswith(("hosting.", "state."))}

    rooms = ("hosting.console.", "hosting.functions.durable_2.")
    assert {name for name in users if not name.startswith(rooms)} == {"hosting.task_hub"}


@pytest.mark.behaviour("hosting.azure-at-the-edge")
def test_azure_is_imported_by_the_surface_and_the_app_alone() -> None:
    """The behaviour runs without Functions, and another SDK is one more file in functions/.

    Logs reach storage, and the other index of files its service.
    """
    users = importers({"azure", "azurefunctions"})

    stores = {
        f"hosting.core.stores.{name}" for name in ("storage_account", "blobs", "tables", "table_entities", "cosmos")
    }
    index = {"hosting.features.uploads.search.index.azure_search"}
    inside = {name for name in users if name.startswith(("hosting.", "state."))} - stores - index - {"hosting.app"}
    assert {".".join(name.split(".")[:2]) for name in inside} == {"hosting.functions"}


WITHOUT_AGENTS = ("hosting.strict_json.", "hosting.functions.", "hosting.core.request.", "hosting.core.stores.")


@pytest.mark.behaviour("hosting.azure-at-the-edge")
def test_requests_stores_and_triggers_know_no_agent() -> None:
    assert [name for name in importers({"agent_framework"}) if name.startswith(WITHOUT_AGENTS)] == []


HTTP_TRIGGERS = {
    ("hosting.functions.http_triggers", "_register"),  # a `Route`, which the OpenAPI document has from then on
    ("hosting.functions.features", "_register_wire"),  # a wire, which gives the document its operations
    ("hosting.functions.app_triggers", "_register_unknown"),  # refuses what is no route
    ("hosting.functions.app_triggers", "register_page"),  # shows a person the page
}


@pytest.mark.behaviour("openapi.exact")
def test_no_http_trigger_is_registered_but_with_the_route_that_describes_it() -> None:
    registering = {
        (module_name(path), function.name)
        for path in product_files()
        if module_name(path).startswith("hosting.")
        for source in [path.read_text(encoding="utf-8")]
        if ".route(" in source  # few do, and to parse all takes seconds
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "route"
    }
    assert registering == HTTP_TRIGGERS


@pytest.mark.behaviour("hosting.devhost-apart")
def test_the_local_host_knows_nothing_of_ours() -> None:
    """It sees what the real host sees, so the app can use no private door."""
    assert {name for name in importers(OWN) if name.startswith("devhost")} == set()


@pytest.mark.behaviour("hosting.devhost-apart")
def test_nothing_of_ours_imports_the_local_host() -> None:
    assert {name for name in importers({"devhost"}) if name.partition(".")[0] in OWN} == set()


@pytest.mark.behaviour("conformance.apart")
def test_the_trial_of_services_and_the_rest_know_nothing_of_each_other() -> None:
    assert {name for name in importers({*OWN, "devhost"}) if name.startswith("conformance")} == set()
    assert {name.partition(".")[0] for name in importers(OF_THE_TRIAL)} <= {"benchmarks", "conformance"}


def test_the_stored_document_depends_on_no_host() -> None:
    """state/ can be read and used without the rest of the product."""
    users = importers({"hosting", "azure", "azurefunctions", "agents", "devhost"})

    assert {name for name in users if name.startswith("state.")} == set()


def test_no_product_modules_import_each_other_in_a_circle() -> None:
    """`static_order` raises CycleError, which names the circle."""
    assert list(TopologicalSorter(import_graph()).static_order())


def importers(packages: Iterable[str]) -> set[str]:
    """Return the product modules that import one of these top-level packages."""
    wanted = set(packages)
    return {
        module_name(path) for path in product_files() if wanted & {name.partition(".")[0] for name in imports_of(path)}
    }


DEFINED = re.compile(r"^(?:class|(?:async )?def) ([A-Za-z]\w*)", re.MULTILINE)
ONE_MEANING = {
    "AgentTask": "the task of a run, for each durable SDK",
    "DurableClient": "the client of an invocation, for each version of the Functions SDK",
    "naming": "what gives an orchestrator's executions their names, for each version",
    "is_over": "whether a task of an orchestration has ended, for each version",
    "result_of": "how it has ended, for each version",
    "of_texts": "what translates an entity's batches, for each version",
    "CallingOrchestration": "a running orchestration, for each durable SDK",
    "Usage": "a model's token counts, as they are stored and as callers see them",
    "decode": "reads one stored form, which the module is named for",
    "encode": "writes one stored form, which the module is named for",
    "main": "a command",
    "read_head": "reads a thread's head, for each store",
}
"""What is called the same on purpose, and what all of that name do."""


def definitions() -> dict[str, list[str]]:
    """Return the modules of `hosting/` and `state/` that define each public class or function."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for package in ("hosting", "state") for path in (ROOT / package).rglob("*.py")):
        for name in DEFINED.findall(path.read_text(encoding="utf-8")):
            found[name].append(module_name(path))
    return found


@pytest.mark.behaviour("hosting.one-name")
def test_a_class_or_a_function_has_its_name_alone() -> None:
    """But for what has one meaning and stands once for each SDK, store or stored form."""
    twice = {name: modules for name, modules in definitions().items() if len(modules) > 1}

    assert {name: modules for name, modules in twice.items() if name not in ONE_MEANING} == {}
    assert ONE_MEANING.keys() <= twice.keys()
