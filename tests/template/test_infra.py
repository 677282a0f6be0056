"""infra/ is read here, not deployed: what a Bicep parser sees in its files must fit together."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pycep import BicepParser

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "infra").rglob("*.bicep"))


def parsed(path: Path) -> dict[str, Any]:
    tree: dict[str, Any] = BicepParser().parse(text=path.read_text(encoding="utf-8"))
    return tree


MAIN = parsed(ROOT / "infra" / "main.bicep")


@pytest.mark.behaviour("template.infra-parses")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_bicep_file_parses_and_declares_what_it_uses(path: Path) -> None:
    """A parameter that nothing refers to is a setting that does nothing."""
    text = path.read_text(encoding="utf-8")

    assert [name for name in parsed(path)["parameters"] if len(re.findall(rf"\b{name}\b", text)) < 2] == []


@pytest.mark.behaviour("template.infra-parses")
@pytest.mark.parametrize("module", MAIN["modules"].values(), ids=list(MAIN["modules"]))
def test_every_module_gets_exactly_the_parameters_that_it_declares(module: dict[str, Any]) -> None:
    """All parameters of our modules are required, and the file is where main.bicep says."""
    declared = parsed(ROOT / "infra" / module["detail"]["path"])["parameters"]

    assert set(module["config"]["params"]) == set(declared)


@pytest.mark.behaviour("template.infra-parses")
def test_every_output_that_main_takes_is_given_by_its_module() -> None:
    """`module.outputs.name` is checked by nobody before a deployment."""
    text = (ROOT / "infra" / "main.bicep").read_text(encoding="utf-8")
    taken = set(re.findall(r"(\w+)\.outputs\.(\w+)", text))
    given = {
        (name, output)
        for name, module in MAIN["modules"].items()
        for output in parsed(ROOT / "infra" / module["detail"]["path"]).get("outputs", {})
    }

    assert taken - given == set()


def test_azd_fills_only_parameters_that_main_declares() -> None:
    """And every parameter without a default."""
    filled = set(json.loads((ROOT / "infra" / "main.parameters.json").read_text())["parameters"])

    assert filled == set(MAIN["parameters"])


def test_the_storage_account_takes_no_shared_keys() -> None:
    """Identities only: there is no connection string to leak."""
    account = parsed(ROOT / "infra" / "app" / "storage.bicep")["resources"]["account"]["config"]["properties"]

    assert (account["allowSharedKeyAccess"], account["allowBlobPublicAccess"]) == (False, False)
