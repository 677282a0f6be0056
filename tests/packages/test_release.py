"""What a release adds to the wheels: their bills of materials, the index's own check, and the workflow."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from packages.build import ROOT
from tests.packages.wheel_files import metadata
from tests.support.interpreters import PROGRAMS, install, new_environment

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("packages.release")]


@pytest.fixture(scope="module")
def releaser(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with the tools of a release."""
    folder = tmp_path_factory.mktemp("releaser")
    new_environment(sys.executable, folder)
    python = str(folder / PROGRAMS / "python")
    install(python, "-r", str(ROOT / "requirements-release.txt"))
    return python


def needs_of(wheel: Path) -> set[str]:
    """The names of what the wheel asks for here, without its extras."""
    asked = map(Requirement, metadata(wheel).get_all("Requires-Dist") or ())
    return {canonicalize_name(one.name) for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})}


def invalid(bill: dict[str, Any], releaser: str) -> list[str]:
    """What in a bill is not as the schema of CycloneDX has it, which the releaser's tool brings."""
    (schemas,) = Path(releaser).parents[1].rglob("cyclonedx/schema/_res")

    def schema(address: str) -> Any:
        return json.loads((schemas / Path(urlsplit(address).path).name).read_text(encoding="utf-8"))

    its_own = schema(bill["$schema"].replace(".schema.json", ".SNAPSHOT.schema.json"))
    validator = jsonschema_rs.validator_for(its_own, retriever=schema, validate_formats=True)
    return [error.message for error in validator.iter_errors(bill)]


@pytest.mark.timeout(600)
def test_each_wheel_gets_a_bill_of_what_it_brings(releaser: str, wheels: dict[str, Path], tmp_path: Path) -> None:
    """Each package with version and licence, as CycloneDX has it; the wheel is the subject, and nothing says where this
    machine had it."""
    for wheel in wheels.values():
        (tmp_path / wheel.name).write_bytes(wheel.read_bytes())
    subprocess.run([releaser, str(ROOT / "packages" / "bills.py"), str(tmp_path)], check=True)
    bills = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.cdx.json")}
    subjects = {name: bill["metadata"]["component"] for name, bill in bills.items()}

    assert {f"{one['name']}-{one['version']}.cdx.json" for one in subjects.values()} == set(bills)
    assert {one["name"] for one in subjects.values()} == {
        "durable-agent-host",
        "durable-agents-conformance",
        "functions-local-host",
    }
    for name, bill in bills.items():
        assert invalid(bill, releaser) == []
        listed = {canonicalize_name(one["name"]): one for one in bill["components"]}
        needs = needs_of(wheels[subjects[name]["name"].replace("-", "_")])
        assert sorted(needs - listed.keys()) == []
        assert [one["name"] for one in listed.values() if not (one.get("version") and one.get("licenses"))] == []
        assert str(tmp_path) not in json.dumps(bill)


def test_the_release_publishes_what_it_built_attested_and_without_a_secret() -> None:
    """Each action is pinned by its commit; only the job that builds attests, and only the other one publishes."""
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    built, published = workflow.split("\n  publish:\n")

    assert "secrets." not in workflow
    assert [use for use in re.findall(r"uses: (\S+)", workflow) if not re.search(r"@[0-9a-f]{40}$", use)] == []
    assert "actions/attest-build-provenance@" in built
    assert "pypa/gh-action-pypi-publish@" in published
    assert "id-token: write" in published
    assert "contents: write" not in workflow
    assert [
        name
        for name in re.findall(r"requirements[\w-]*\.txt|packages/\w+(?:\.py)?", built)
        if not (ROOT / name).exists()
    ] == []
