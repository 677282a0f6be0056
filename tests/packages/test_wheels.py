"""The wheels as they are built: what is in them, what they ask for, and that two builds are the same."""

import hashlib
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from packages.build import NAMES, ROOT, TEMPLATE, WHEELS, Wheel
from tests.packages.wheel_files import metadata
from tests.support.deployed_tree import tracked_files

pytestmark = pytest.mark.slow
each = pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.name)


def lines_of(name: str) -> set[str]:
    """The requirements of a file, as metadata spells them."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {str(Requirement(line)) for line in lines if line and not line.startswith(("#", "-r"))}


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


@pytest.mark.behaviour("packages.needs")
def test_the_local_hosts_wheel_asks_for_its_own_needs_the_sdk_and_the_client_of_blobs(wheels: dict[str, Path]) -> None:
    """And for nothing of agents."""
    asked = {str(Requirement(text)) for text in metadata(wheels["functions_local_host"]).get_all("Requires-Dist") or ()}
    shared = {"azure-functions", "azure-storage-blob", "aiohttp"}
    sdk = {line for line in lines_of("requirements.txt") if Requirement(line).name in shared}

    assert asked == lines_of("requirements-local.txt") | sdk
    assert {Requirement(line).name for line in sdk} == shared
