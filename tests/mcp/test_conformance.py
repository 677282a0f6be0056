"""The protocol's conformance suite against the template's app on the local host."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.mcp.listed import not_applicable
from tests.mcp.node_packages import NodePackages

HEADING = "Conformance scenarios that do not apply"
ENDPOINT_HEADING = "Conformance scenarios that do not apply to the endpoint"
_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT.*")
pytestmark = [pytest.mark.slow, pytest.mark.behaviour("mcp.conformance")]


@pytest.fixture(scope="session")
def shortcomings(node_packages: NodePackages, template_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return shortcomings_of(node_packages, template_url, tmp_path_factory.mktemp("conformance"))


@pytest.fixture(scope="session")
def endpoint_shortcomings(
    node_packages: NodePackages, endpoint_url: str, tmp_path_factory: pytest.TempPathFactory
) -> dict:
    return shortcomings_of(node_packages, endpoint_url, tmp_path_factory.mktemp("conformance"))


def shortcomings_of(node_packages: NodePackages, url: str, folder: Path) -> dict:
    """Return the scenarios' names, each with what it found wrong, empty for one that passed."""
    node_packages.conformance("server", "--url", url, "--suite", "all", "--output-dir", str(folder))
    return {_scenario(checks.parent): _wrong(checks) for checks in folder.glob("*/checks.json")}


def _scenario(folder: Path) -> str:
    """Return the scenario's name: the folder adds `server-` before it and the time behind it."""
    named = _FOLDER.fullmatch(folder.name)
    assert named is not None, folder.name
    return named[1]


def _wrong(checks: Path) -> list[str]:
    """Return the complaints of one scenario; one without any success shows nothing, so it did not pass either."""
    made = [check for check in json.loads(checks.read_text(encoding="utf-8")) if check["status"] != "INFO"]
    wrong = [check.get("errorMessage", check["name"]) for check in made if check["status"] != "SUCCESS"]
    return wrong if made else ["nothing was checked"]


async def test_every_scenario_of_the_suite_was_run(
    node_packages: NodePackages, shortcomings: Mapping[str, list[str]]
) -> None:
    """The suite's own list has no scenario that left no result."""
    listed = node_packages.conformance("list", "--server").stdout

    names = {line.split()[1] for line in listed.splitlines() if line.startswith("  - ")}

    assert names
    assert names == shortcomings.keys()


async def test_a_scenario_passes_or_is_listed_with_its_reason(shortcomings: Mapping[str, list[str]]) -> None:
    """Both ways: what fails is on the page, and what is on the page fails."""
    failed = {name: wrong for name, wrong in shortcomings.items() if wrong}

    assert failed.keys() == not_applicable(HEADING).keys(), failed


@pytest.mark.behaviour("mcp-endpoint.conformance")
async def test_a_scenario_passes_at_the_endpoint_or_is_listed_with_its_reason(
    shortcomings: Mapping[str, list[str]], endpoint_shortcomings: Mapping[str, list[str]]
) -> None:
    failed = {name: wrong for name, wrong in endpoint_shortcomings.items() if wrong}

    assert endpoint_shortcomings.keys() == shortcomings.keys()
    assert failed.keys() == not_applicable(ENDPOINT_HEADING).keys(), failed
