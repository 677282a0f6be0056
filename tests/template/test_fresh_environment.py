"""What is deployed, in an environment that holds what requirements.txt asks for and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.deployed_tree import INDEX, copy_deployed
from tests.support.interpreters import fresh_environment, install

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
def test_the_deployed_tree_indexes_with_its_requirements_alone(version: str, tmp_path: Path) -> None:
    """A package that only the tests bring would be missing there."""
    python = fresh_environment(version, tmp_path / "environment")
    folder = tmp_path / "app"
    copy_deployed(folder)
    install(python, "-r", str(folder / "requirements.txt"))
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | DEPLOYED
    indexed = subprocess.check_output([python, "-c", INDEX], cwd=folder, env=environ, text=True).split()

    assert {"http-assistant", "dafx-assistant", "mcptool-assistant"} <= set(indexed)
