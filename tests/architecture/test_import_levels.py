"""Who may import whom: the levels of hosting/, and the walls between the packages."""

import sys
from collections.abc import Iterable
from graphlib import TopologicalSorter

import pytest

from tests.architecture.imports import ROOT, import_graph, imports_of, module_name, product_files
from tests.architecture.levels import LEVELS

HOSTING = {path: module_name(path) for path in product_files() if path.is_relative_to(ROOT / "hosting")}
ORDER = [f"hosting.{name}" for names in LEVELS.values() for name in names]
SURFACE = {f"hosting.{name}" for name in LEVELS["the Azure surface"]}
CONSOLE = {f"hosting.{name}" for name in LEVELS["the Durable Task surface"]}
FRAMEWORK_READERS = {
    "hosting.agent.runner",
    "hosting.runner.words",
    "hosting.agent.tool_switch",
    "hosting.steps.speech",
    "hosting.agent.wording",
    "hosting.callback.protocol",
    "hosting.callback.updates",
    "hosting.steps.journaled",
    "hosting.steps.recorded",
    "hosting.steps.recorder",
    "hosting.steps.step_middleware",
    "hosting.agent.made_tools",
    "hosting.agent.history",
    "hosting.agent.compaction",
    "hosting.plan",
    "hosting.thread.messages",
    "hosting.thread.approvals",
    "hosting.agent.refused_calls",
    "hosting.calling.called_answer",
    "hosting.agent.valued_response",
    "hosting.calling.spoken_message",
    "hosting.console.client",
    "hosting.console.orchestrations",
    "hosting.console.worker",
    "hosting.app",
    "state.convert",
}
OWN = {"agents", "hosting", "state", "function_app"}
REQUIRED = {
    "agent_framework",
    "aiohttp",
    "azure",
    "azurefunctions",
    "jsonschema",
    "msgspec",
    "opentelemetry",
    "pydantic",
    "pydantic_core",
    "re2",
    "referencing",
    "typing_extensions",
}
LOCAL = {"httptools", "uvicorn", "uvloop"}
OPTIONAL = {"redis", "durabletask", "grpc"}
EXTENSION = {"fastapi", "starlette"}


@pytest.mark.behaviour("hosting.import-levels")
def test_every_module_of_hosting_stands_in_the_levels() -> None:
    """A new module is given its level on purpose."""
    modules = {name for path, name in HOSTING.items() if path.name != "__init__.py"}

    assert modules == set(ORDER)


@pytest.mark.behaviour("hosting.import-levels")
@pytest.mark.parametrize("module", ORDER)
def test_a_module_of_hosting_imports_only_what_stands_before_it(module: str) -> None:
    """The lists are in import order, so a cycle or an upward import shows as one name."""
    before = set(ORDER[: ORDER.index(module)])
    imported = {name for name in import_graph()[module] if name.startswith("hosting.")}

    assert imported - before == set()


@pytest.mark.behaviour("hosting.import-levels")
def test_the_triggers_do_not_know_each_other() -> None:
    """Siblings of functions/ share the durable client, and the HTTP ones how a request is taken and answered."""
    graph = import_graph()

    shared = {"hosting.functions.client", "hosting.functions.answering"}
    assert {name for module in SURFACE for name in graph[module] & SURFACE} == shared


@pytest.mark.behaviour("hosting.import-levels")
def test_the_two_surfaces_do_not_know_each_other_and_the_app_knows_one() -> None:
    """An app without the Durable Task SDK imports nothing of it, nor a console host anything of Functions."""
    graph = import_graph()

    assert {name for module in SURFACE | {"hosting.app"} for name in graph[module] & CONSOLE} == set()
    assert {name for module in CONSOLE for name in graph[module] & SURFACE} == set()
    assert {name for name in importers({"durabletask", "grpc"}) if name.startswith(("hosting.", "state."))} <= CONSOLE


@pytest.mark.behaviour("hosting.azure-at-the-edge")
def test_azure_is_imported_by_the_surface_and_the_app_alone() -> None:
    """The behaviour runs without Functions, and another SDK is one more file in functions/. Logs reach storage."""
    users = importers({"azure", "azurefunctions"})

    storage = {"hosting.storage.storage_account", "hosting.storage.blob_account", "hosting.storage.blob_container"}
    storage |= {"hosting.storage.table_account", "hosting.stores.tables"}
    storage |= {"hosting.stores.table_entities", "hosting.stores.table_batch"}
    storage |= {"hosting.storage.cosmos_account", "hosting.archive.cosmos"}
    assert {name for name in users if name.startswith(("hosting.", "state."))} <= {*SURFACE, *storage, "hosting.app"}


@pytest.mark.behaviour("hosting.azure-at-the-edge")
def test_the_framework_is_imported_where_an_agent_or_its_messages_are_touched() -> None:
    """Everything else speaks of runs, events and stored entries."""
    users = {name for name in importers({"agent_framework"}) if name.startswith(("hosting.", "state."))}

    assert users == FRAMEWORK_READERS


@pytest.mark.behaviour("hosting.devhost-apart")
def test_the_local_host_knows_nothing_of_ours() -> None:
    """It sees what the real host sees, so the app can use no private door."""
    assert {name for name in importers(OWN) if name.startswith("devhost")} == set()


@pytest.mark.behaviour("hosting.devhost-apart")
def test_nothing_of_ours_imports_the_local_host() -> None:
    """It is never deployed."""
    assert {name for name in importers({"devhost"}) if name.partition(".")[0] in OWN} == set()


def test_the_stored_document_depends_on_no_host() -> None:
    """state/ can be read and used without the rest of the product."""
    users = importers({"hosting", "azure", "azurefunctions", "agents", "devhost"})

    assert {name for name in users if name.startswith("state.")} == set()


def test_no_product_modules_import_each_other_in_a_circle() -> None:
    """`static_order` raises CycleError, which names the circle."""
    assert list(TopologicalSorter(import_graph()).static_order())


def test_the_product_imports_what_its_requirements_install() -> None:
    """What comes along with a requirement may go; the streaming extension's own two are its public types."""
    allowed = {*OWN, "devhost", *sys.stdlib_module_names, *REQUIRED, *OPTIONAL, *LOCAL, *EXTENSION}
    files = [path for path in product_files() if not path.is_relative_to(ROOT / "benchmarks")]
    imported = {name.partition(".")[0] for path in files for name in imports_of(path)}

    assert imported - allowed == set()


def importers(packages: Iterable[str]) -> set[str]:
    """Return the product modules that import one of these top-level packages."""
    wanted = set(packages)
    return {
        module_name(path) for path in product_files() if wanted & {name.partition(".")[0] for name in imports_of(path)}
    }
