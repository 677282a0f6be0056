"""The lowest versions that the requirements allow: each Python can have them, and the app takes a turn on them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.interpreters import PROGRAMS, fresh_environment, install
from tests.support.template_process import ROOT, copy_tree, running

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("template.floors")]

FILES = [f"requirements{part}.txt" for part in ("-local", "-auth", "-redis", "-cosmos", "-console", "-conformance")]
"""What runs an app, and each of the extras; `requirements-local.txt` brings `requirements.txt`."""
LOWEST = ("--resolution", "lowest-direct")
ALL = [part for name in FILES for part in ("-r", name)]
EXTRAS = ", ".join(
    f"hosting.{name}"
    for name in ("bearer", "core.stores.redis", "core.stores.cosmos", "console.worker", "console.client")
)
_LINE = re.compile(r"([\w.-]+)(?:\[\w+\])?>=([\w.]+)[^;]*(?:; python_version (<|>=) \"3\.(\d+)\")?")


def floors(minor: int) -> dict[str, str]:
    """Return the lowest version of each package that is asked for on Python 3.`minor`."""
    lines = [line for name in ("requirements.txt", *FILES) for line in (ROOT / name).read_text().splitlines()]
    matches = [match for line in lines if (match := _LINE.match(line))]
    return {
        name: version
        for name, version, than, other in (match.groups() for match in matches)
        if than is None or (minor < int(other)) == (than == "<")
    }


@pytest.mark.parametrize("minor", [10, 11, 12, 13])
def test_each_floor_is_a_version_that_is_installed_without_a_compiler(minor: int) -> None:
    """One without a wheel for that Python is none. What others of them ask for may be higher: that is left out here."""
    command = [sys.executable, "-m", "uv", "pip", "compile", *LOWEST, "--only-binary", ":all:", "--no-deps"]
    command += ["--no-header", "--no-annotate", "--quiet", "--python-version", f"3.{minor}", *FILES]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    taken = dict(line.split("==") for line in ended.stdout.splitlines() if "==" in line)

    assert ended.returncode == 0, ended.stderr
    assert {name: _numbers(taken[name]) for name in floors(minor)} == {
        name: _numbers(version) for name, version in floors(minor).items()
    }


def _numbers(version: str) -> list[int]:
    numbers = [int(number) for number in version.split(".")]
    while numbers[-1:] == [0]:
        numbers.pop()
    return numbers


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", ["3.12", pytest.param("3.13", marks=pytest.mark.explore)])
async def test_the_app_takes_a_turn_on_its_floors(version: str, tmp_path: Path) -> None:
    """And its extras are imported; no library warns of anything. Python 3.13 has another line of the Functions SDK."""
    python = fresh_environment(version, tmp_path / "environment")
    install(python, *LOWEST, *(part if part == "-r" else str(ROOT / part) for part in ALL))
    folder = tmp_path / "app"
    folder.mkdir()
    copy_tree(folder)
    subprocess.run([python, "-c", f"import {EXTRAS}"], cwd=folder, check=True)
    command = [
        str(tmp_path / "environment" / PROGRAMS / "python"),
        "-W",
        "error::UserWarning",
        "-m",
        "devhost",
        "start",
    ]
    async with running([*command, "--port", "0"], folder) as app, httpx.AsyncClient(timeout=30) as client:
        message = {"message": "What is the weather in Paris?"}
        answer = await client.post(f"{app.origin}/api/agents/assistant/run", json=message)

    assert (answer.status_code, answer.json()["response"]) == (200, "The weather in Paris: partly cloudy, 18 °C.")
