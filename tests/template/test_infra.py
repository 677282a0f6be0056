"""infra/ is read here, not deployed: what a Bicep parser sees in its files must fit together."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.template.bicep import FILES, INFRA, MAIN, config_of, module_file, parsed

TREE = parsed(MAIN)
MODULES: dict[str, dict[str, Any]] = TREE["modules"]


@pytest.mark.behaviour("template.infra-parses")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_bicep_file_parses_and_uses_what_it_declares(path: Path) -> None:
    """A parameter or a variable that nothing refers to is a choice that does nothing."""
    text, tree = path.read_text(encoding="utf-8"), parsed(path)
    declared = [*tree["parameters"], *tree.get("variables", {})]

    assert [name for name in declared if len(re.findall(rf"\b{name}\b", text)) < 2] == []


@pytest.mark.behaviour("template.infra-parses")
@pytest.mark.parametrize("module", MODULES.values(), ids=list(MODULES))
def test_every_module_gets_exactly_the_parameters_that_it_declares(module: dict[str, Any]) -> None:
    """All parameters of our modules are required, and the file is where main.bicep says."""
    assert set(config_of(module)["params"]) == set(parsed(module_file(module))["parameters"])


@pytest.mark.behaviour("template.infra-parses")
def test_every_output_that_main_takes_is_given_by_its_module() -> None:
    """`module.outputs.name` is checked by nobody before a deployment."""
    taken = set(re.findall(r"(\w+)!?\.outputs\.(\w+)", MAIN.read_text(encoding="utf-8")))
    given = {
        (name, output) for name, module in MODULES.items() for output in parsed(module_file(module)).get("outputs", {})
    }

    assert taken - given == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_parameter_that_carries_a_key_is_secure(path: Path) -> None:
    """Else its value stands in the history of deployments; the compiler warns of the names that it knows."""
    parameters = parsed(path)["parameters"].items()
    open_keys = [
        name
        for name, declared in parameters
        if re.search("Key$|password|secret|accountkey|acctkey", name, re.IGNORECASE)
        if declared["type"] in ("string", "object")
        if {"type": "secure"} not in declared["decorators"]
    ]

    assert open_keys == []


@pytest.mark.behaviour("template.infra-without-keys")
@pytest.mark.parametrize(
    ("file", "resource", "setting", "value"),
    [
        ("storage", "account", "allowSharedKeyAccess", False),
        ("storage", "account", "allowBlobPublicAccess", False),
        ("cosmos", "account", "disableKeyBasedMetadataWriteAccess", True),
        ("cosmos", "account", "disableLocalAuth", True),
        ("model", "account", "disableLocalAuth", True),
        ("monitoring", "insights", "DisableLocalAuth", True),
        ("api", "noPasswordOverFtp", "allow", False),
        ("api", "noPasswordOverScm", "allow", False),
        ("api", "app", "httpsOnly", True),
    ],
)
def test_services_take_identities_only(file: str, resource: str, setting: str, value: bool) -> None:
    declared = parsed(INFRA / "app" / f"{file}.bicep")["resources"][resource]

    assert config_of(declared)["properties"][setting] is value
