"""The protocol's conformance suite and its Inspector, against the template's app and the endpoint on the local host."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.node_packages import NodePackages
from tests.support.pages import page, part

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("mcp.conformance"), pytest.mark.behaviour("mcp.inspector")]

_ROW = re.compile(r"^\| (?P<names>`.*`) \| (?P<why>.+) \|$", re.MULTILINE)
_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT.*")


def not_applicable(heading: str) -> set[str]:
    """Return what docs/contributing/test-kits.md names under the heading, with the reason beside it."""
    table = part(page("docs/contributing/test-kits.md"), f"### {heading}")
    return {name for row in _ROW.finditer(table) for name in re.findall(r"`([^`]+)`", row["names"])}


@pytest.fixture(scope="session")
def shortcomings(node_packages: NodePackages, template_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return shortcomings_of(node_packages, template_url, tmp_path_factory.mktemp("conformance"))


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


async def test_every_scenario_of_the_suite_was_run_and_passes_or_is_listed_with_its_reason(
    node_packages: NodePackages, shortcomings: Mapping[str, list[str]]
) -> None:
    """Both ways: what fails is on the page, and what is on the page fails."""
    listed = node_packages.conformance("list", "--server").stdout
    names = {line.split()[1] for line in listed.splitlines() if line.startswith("  - ")}
    failed = {name: wrong for name, wrong in shortcomings.items() if wrong}

    assert names
    assert names == shortcomings.keys()
    assert failed.keys() == not_applicable("Conformance scenarios that do not apply"), failed


@pytest.mark.behaviour("mcp-endpoint.conformance")
async def test_a_scenario_passes_at_the_endpoint_or_is_listed_with_its_reason(
    node_packages: NodePackages, shortcomings: Mapping[str, list[str]], endpoint_url: str, tmp_path: Path
) -> None:
    endpoints = shortcomings_of(node_packages, endpoint_url, tmp_path)
    failed = {name: wrong for name, wrong in endpoints.items() if wrong}

    assert endpoints.keys() == shortcomings.keys()
    assert failed.keys() == not_applicable("Conformance scenarios that do not apply to the endpoint"), failed


ASSISTANT = ("--tool-name", "assistant", "--tool-arg")
PROMPT = ("--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b")
METHODS: dict[str, tuple[tuple[str, ...], str]] = {
    "initialize": ((), '"serverInfo": {"name": "durable-agents"'),
    "tools/list": ((), '"name": "assistant"'),
    "tools/call": ((*ASSISTANT, "query=hello"), '"structuredContent": {"response": "You said:'),
    "resources/list": ((), '"uri": "test://static-binary"'),
    "resources/read": (
        ("--uri", "test://static-text"),
        '"text": "This is the content of the static text resource."',
    ),
    "resources/templates/list": ((), '"uriTemplate": "test://template/{id}/data"'),
    "prompts/list": ((), '"name": "test_prompt_with_arguments"'),
    "prompts/get": (PROMPT, "arg1='a', arg2='b'"),
    "logging/setLevel": (("--log-level", "info"), "{}"),
}
"""What the Inspector is given with each of its methods, and a part of what it shows then."""


def inspected(node_packages: NodePackages, url: str, method: str, *arguments: str) -> dict[str, Any]:
    ran = node_packages.inspect(url, "--method", method, *arguments)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout)["result"])


async def test_each_method_of_the_inspector_is_tried_or_listed_with_its_reason(
    node_packages: NodePackages, template_url: str
) -> None:
    """Both ways; the Inspector itself names its methods when it is asked for one that it lacks."""
    refusal = node_packages.inspect(template_url, "--method", "nosuch").stderr

    _, _, names = json.loads(refusal)["error"]["message"].partition("methods: ")
    supported = names.removesuffix(".").split(", ")

    assert sorted(supported) == sorted([*METHODS, *not_applicable("Inspector methods that do not apply")])


@pytest.mark.parametrize("method", METHODS)
async def test_the_inspector_gets_the_methods_result(
    node_packages: NodePackages, template_url: str, method: str
) -> None:
    arguments, shown = METHODS[method]

    assert shown in json.dumps(inspected(node_packages, template_url, method, *arguments))


async def test_the_inspector_finds_the_agents_tool_portable(node_packages: NodePackages, template_url: str) -> None:
    """Its strict check of schemas ends with an error code when clients would stumble over one."""
    inspected(node_packages, template_url, "tools/list", "--strict")
