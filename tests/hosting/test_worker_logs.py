"""Microsoft's worker library for Python 3.13 runs an agent whose every record carries its invocation."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.interpreters import fresh_environment, install
from tests.support.running_host import ROOT, host_environment

APP = Path(__file__).with_name("logging_app")
PROGRAM = Path(__file__).with_name("logging_worker.py")
LIBRARY = "azure-functions-runtime==1.3.0"
GUARD_SECONDS = 60


def found_by_worker(python: str, folder: Path) -> list[dict[str, Any]]:
    """Return where the worker would find an id at each record, in order."""
    hosted = {"AzureWebJobsScriptRoot": str(folder), "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
    environ = host_environment({"AGENT_LOG": f"sqlite:{folder / 'log.sqlite'}", **hosted})
    command = [python, str(PROGRAM)]
    ran = subprocess.run(
        command, cwd=APP, env=environ, capture_output=True, text=True, timeout=GUARD_SECONDS, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.behaviour("hosting.logs-carry-the-invocation")
def test_the_worker_of_python_3_13_finds_the_invocation_at_every_record(tmp_path: Path) -> None:
    """On the task on the agents' loop, in the variable and the storage of a tool's thread: of four runs at once."""
    python = fresh_environment("3.13", tmp_path / "environment")
    install(python, "-r", str(ROOT / "requirements.txt"), LIBRARY)

    imported, made, *records = found_by_worker(python, tmp_path)

    assert (imported["said"], made["said"]) == ("imported", "made")
    assert {one[mark] for one in (imported, made) for mark in ("task", "variable", "storage")} == {None}
    by_invocation: dict[str, list[str]] = {}
    for record in records:
        marks = {record["task"], record["variable"], record["storage"]} - {None}
        assert len(marks) == 1, record
        if record["logger"] != "agent_framework":
            by_invocation.setdefault(marks.pop(), []).append(record["said"])
        if record["said"].startswith("sync tool"):
            assert (record["task"], record["variable"], record["storage"]) == (None, *["invocation-a"] * 2)
    waits = ["middleware of tool waits", "async tool begins", "child of the async tool", "async tool goes on"]
    assert by_invocation == {
        "invocation-a": ["middleware of tool works", "sync tool in agent-tool_0"],
        "invocation-b": waits,
        "invocation-c": waits,
        "invocation-d": ["middleware of fail", f"Run {'d' * 32} of agent Joker failed."],
    }
    assert [record["said"] for record in records if record["has_traceback"]] == [by_invocation["invocation-d"][1]]
