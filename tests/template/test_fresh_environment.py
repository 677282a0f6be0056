"""What is deployed, in an environment that holds what requirements.txt asks for and nothing else."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.deployed_tree import INDEX, copy_deployed
from tests.support.interpreters import fresh_environment, install
from tests.support.seeds import IS_EXPLORING

# What is compared there are our imports, which are the same on each Python.
MEASURED_ON = "3.13"
MEASURED_IMPORTS = 2
# Above what real-host.md says was measured, so that a busy machine does not fail it and a heavy import does.
MOST_TIMES_STREAMING = 1.9
# The packages that no app of this kind can do without, then the one that sends a response as it is made.
DURABLE_AGENTS = "import azure.durable_functions; from agent_framework import Agent"
STREAMING = f"{DURABLE_AGENTS}; import azurefunctions.extensions.http.fastapi"
THE_APP = "import function_app"
# What infra sets makes the app load the clients of its model, of its storage and of its identity.
DEPLOYED = {
    "AZURE_FUNCTIONS_ENVIRONMENT": "Production",
    "AzureWebJobsStorage__accountName": "account",
    "AZURE_OPENAI_ENDPOINT": "https://account.openai.azure.com",
    "AZURE_OPENAI_MODEL": "model",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.behaviour("template.deploys-alone")
@pytest.mark.parametrize("version", ["3.11", pytest.param("3.12", marks=pytest.mark.explore), "3.13", "3.14"])
def test_the_deployed_tree_indexes_with_its_requirements_alone(
    version: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A package that only the tests bring would be missing there; sizes, and import times on one, are printed."""
    python = fresh_environment(version, tmp_path / "environment")
    folder = tmp_path / "app"
    size = copy_deployed(folder)
    install(python, "-r", str(folder / "requirements.txt"))
    environ = {**bare_environment(), **DEPLOYED}  # with which it imports all that it does without them, and more
    indexed = subprocess.check_output([python, "-c", INDEX], cwd=folder, env=environ, text=True).split()

    packages = sum(path.stat().st_size for path in (tmp_path / "environment").rglob("*") if path.is_file())
    record_property("measured", f"Python {version}: app {size / 1e3:.0f} kB, environment {packages / 1e6:.0f} MB")
    assert {"http-assistant", "dafx-assistant", "mcptool-assistant"} <= set(indexed)
    if version == MEASURED_ON:
        assert_imports_are_light(python, folder, record_property)


def assert_imports_are_light(python: str, folder: Path, record_property: Callable[[str, object], None]) -> None:
    streaming, app = import_seconds(python, folder, (STREAMING, {}), (THE_APP, {}))
    text = f"Python {MEASURED_ON}: cold import {app:.2f} s, {app / streaming:.2f} times what each such app imports"
    if IS_EXPLORING:  # for docs/contributing/real-host.md; nothing is compared with these
        durable, deployed = import_seconds(python, folder, (DURABLE_AGENTS, {}), (THE_APP, DEPLOYED))
        text += f", {app / durable:.2f} times that without the HTTP extension; as deployed {deployed:.2f} s"
    record_property("measured", text)
    assert app < MOST_TIMES_STREAMING * streaming


def bare_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def import_seconds(python: str, folder: Path, *codes: tuple[str, dict[str, str]]) -> list[float]:
    """The processor's time of the imports, each the least of some, in turns: the first one compiles what it imports."""
    rounds = [[seconds_of(python, folder, *code) for code in codes] for _ in range(MEASURED_IMPORTS)]
    return [min(measured) for measured in zip(*rounds, strict=True)]


def seconds_of(python: str, folder: Path, code: str, environ: dict[str, str]) -> float:
    timed = [python, "-c", f"import time; {code}; print(time.process_time())"]
    environ = {**bare_environment(), **environ}
    return float(subprocess.check_output(timed, cwd=folder, env=environ, text=True))
