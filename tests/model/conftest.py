"""The small model on a real server on loopback, for tests that are asked for by name."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the model's tests out unless `-m` names them: they need a package that takes minutes to compile."""
    if "model" not in config.option.markexpr:
        skip = pytest.mark.skip(reason="needs the small real model: python dev.py test --model")
        for item in items:
            if item.get_closest_marker("model"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """The address of llama.cpp's OpenAI-compatible server with SmolLM2 135M, deterministic by its seed."""
    command = [sys.executable, "-m", "tests.model.server", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield f"{announced_address(server)}/v1"
        finally:
            server.terminate()


def announced_address(server: "subprocess.Popen[str]") -> str:
    """The address that the server prints once it listens; fails with what it printed when it ends before that."""
    printed: list[str] = []
    for line in server.stderr or ():
        printed.append(line)
        if found := re.search(r"running on (http://\S+)", line):
            return found[1]
    raise RuntimeError("the model's server ended:\n" + "".join(printed))
