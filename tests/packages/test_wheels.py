"""The wheels as they are built and released: what is in them, what they ask for, and that two builds are one."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from packages.build import NAMES, ROOT, TEMPLATE, WHEELS, Wheel
from tests.support.deployed_tree import tracked_files
from tests.support.interpreters import PROGRAMS, install, new_environment


def metadata(path: Path) -> Message:
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


each = pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.name)


def lines_of(name: str) -> set[str]:
    """The requirements of a file, as metadata spells them."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {str(Requirement(line)) for line in lines if line and not line.startswith(("#", "-r"))}


@pytest.mark.slow
@each
@pytest.mark.behaviour("packages.names")
def test_a_wheel_holds_its_folders_below_one_name(wheel: Wheel, wheels: dict[str, Path]) -> None:
    """Modules, the page's files, schemas and markers of types; no `hosting`, `state` or `tests` stands at its top."""
    with zipfile.ZipFile(wheels[wheel.name]) as archive:
        held = set(archive.namelist())
    moved = [
        f"{NAMES[path.parts[0]].replace('.', '/')}/{'/'.join(path.parts[1:])}"
        for path in tracked_files()
        if path.parts[0] in wheel.folders and (ROOT / path).is_file()
    ]

    assert {name.partition("/")[0].partition("-")[0] for name in held} == {wheel.name}
    assert sorted(set(moved) - held) == []
    assert f"{wheel.name}/py.typed" in held
    assert [name for name in held if name.endswith("licenses/LICENSE")] != []
    assert [name for name in held if "__pycache__" in name] == []


@pytest.mark.slow
@pytest.mark.behaviour("packages.needs")
def test_the_librarys_wheel_asks_for_what_the_requirements_files_do(wheels: dict[str, Path]) -> None:
    asked = [Requirement(text) for text in metadata(wheels["durable_agent_host"]).get_all("Requires-Dist") or ()]
    extras = {extra: lines_of(f"requirements-{extra}.txt") for extra in WHEELS[0].extras}
    found: dict[str, set[str]] = {extra: set() for extra in extras}
    for one in asked:
        for extra in extras:
            if str(one.marker).endswith(f'extra == "{extra}"'):
                one.marker = None
                found[extra].add(str(one))
    plain = {str(one) for one in asked if "extra" not in str(one.marker) and one.marker} | {
        str(one) for one in asked if one.marker is None
    }

    assert found == extras
    assert plain - set().union(*extras.values()) == lines_of("requirements.txt")


@pytest.mark.slow
@pytest.mark.behaviour("packages.one-command")
def test_the_same_tree_gives_the_same_bytes(builder: str, wheels: dict[str, Path], tmp_path: Path) -> None:
    """From another folder, at another time, for another user's mask."""
    pycache = shutil.ignore_patterns("__pycache__")
    for path in [ROOT / name for name in (*NAMES, *TEMPLATE, "packages")] + sorted(ROOT.glob("requirements*.txt")):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target, ignore=pycache, copy_function=copied)
        else:
            copied(path, target)
    copied(ROOT / "LICENSE", tmp_path / "LICENSE")
    command = [builder, str(tmp_path / "packages" / "build.py"), "--out", str(tmp_path / "out")]
    subprocess.run(command, check=True, umask=0o077)
    again = {path.name.partition("-")[0]: path for path in (tmp_path / "out").iterdir()}

    assert {name: digest(path) for name, path in again.items()} == {name: digest(path) for name, path in wheels.items()}


def copied(source: str | Path, target: str | Path) -> None:
    """Copy the bytes alone, as a clone made years ago would have them."""
    shutil.copyfile(source, target)
    os.utime(target, (1e9, 1e9))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.behaviour("packages.needs")
def test_the_local_hosts_wheel_asks_for_its_own_needs_the_sdk_and_the_client_of_blobs(wheels: dict[str, Path]) -> None:
    """And for nothing of agents."""
    asked = {str(Requirement(text)) for text in metadata(wheels["functions_local_host"]).get_all("Requires-Dist") or ()}
    shared = {"azure-functions", "azure-storage-blob", "aiohttp"}
    sdk = {line for line in lines_of("requirements.txt") if Requirement(line).name in shared}

    assert asked == lines_of("requirements-local.txt") | sdk
    assert {Requirement(line).name for line in sdk} == shared


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

    import jsonschema_rs

    its_own = schema(bill["$schema"].replace(".schema.json", ".SNAPSHOT.schema.json"))
    validator = jsonschema_rs.validator_for(its_own, retriever=schema, validate_formats=True)
    return [error.message for error in validator.iter_errors(bill)]


@pytest.mark.slow
@pytest.mark.behaviour("packages.release")
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


@pytest.mark.slow
@pytest.mark.behaviour("packages.release")
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
