"""The app as its callers see it: run by the local host, with the offline model, and asked over HTTP."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODELS = ("OPENAI_", "AZURE_OPENAI_")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, with threads of its own and without a model's settings."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(MODELS)}
    environ |= {
        "PYTHONPATH": str(ROOT),
        "AGENT_LOG": "memory",
    }
    folder = tmp_path_factory.mktemp("app")
    for name in ("function_app.py", "host.json"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "functions_local_host", "start", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        printed = ""
        for line in host.stdout:
            printed += line
            if line.startswith("Local Functions host"):
                break
        else:
            pytest.fail(f"The app does not start: {printed}")
        yield line.split()[-1]
        host.kill()


def ask(app: str, message: str, thread: str) -> str:
    url = f"{app}/api/agents/assistant/run?thread_id={thread}"
    with urllib.request.urlopen(url, data=message.encode(), timeout=60) as answer:
        return str(answer.read().decode())


def test_the_assistant_uses_its_tool_and_remembers(app: str) -> None:
    """Two turns of one conversation."""
    assert ask(app, "What is the weather in Paris?", "first") == "The weather in Paris: partly cloudy, 18 °C."
    assert ask(app, "Which city did I ask about?", "first") == "You asked about Paris."


def test_the_app_is_healthy(app: str) -> None:
    """A load balancer asks this."""
    with urllib.request.urlopen(f"{app}/api/health", timeout=60) as answer:
        assert answer.status == 200
