"""An evaluation whose app, or whose own process, is killed with SIGKILL in the middle: each case is counted once."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from hosting.client.remote_agent import RemoteAgent
from hosting.commands.evaluate import __name__ as COMMAND
from hosting.evaluation.cases import read_evaluation
from hosting.evaluation.evaluating import evaluate
from tests.faults.app_process import AppFolder
from tests.support.running_host import START_GUARD_SECONDS, host_environment

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("evaluation.killed")]
MESSAGES = ["one", "two", "three", "sleep 2", "five", "six"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Six cases; the fourth takes two seconds."""
    path = tmp_path / "cases.jsonl"
    cases = [{"query": message, "expected_output": f"echo: {message}", "exact": True} for message in MESSAGES]
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    return path


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_host_that_is_killed_in_the_middle_costs_no_case(folder: AppFolder, file: Path, parallel: int) -> None:
    """The next host, on the same port, finishes the run at work; the others were asked once."""
    with folder.host() as host:
        port = urlsplit(host.origin).port or 0
        agent = RemoteAgent(host.origin, "Joker", patience_seconds=START_GUARD_SECONDS)
        work = asyncio.create_task(evaluate(agent, read_evaluation(file), "killed", parallel=parallel))
        await folder.until_model_called("sleep 2")

    with folder.host(port=port) as host:
        result = await work
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/Joker/threads/") as http:
            runs = [(await http.get(f"{case.thread_id}/runs")).json()["runs"] for case in result.cases]

    assert [(case.name, case.passed, case.error) for case in result.cases] == [(case, True, "") for case in MESSAGES]
    assert [len(of_thread) for of_thread in runs] == [1] * len(MESSAGES)
    assert folder.model_calls("sleep 2") == 2


async def test_an_evaluation_that_is_killed_goes_on_by_its_id(folder: AppFolder, file: Path) -> None:
    """The second command reads what the first one began, and its table has every case once."""
    with folder.host() as host:
        command = [sys.executable, "-m", COMMAND, str(file), "--url", host.origin, "--agent", "Joker", "--id", "again"]
        with subprocess.Popen(command, env=host_environment(), stdout=subprocess.PIPE) as first:
            await folder.until_model_called("sleep 2")
            first.kill()
        second = await asyncio.to_thread(
            subprocess.run, command, env=host_environment(), capture_output=True, text=True, timeout=90, check=False
        )

    rows = re.findall(r"^(.+?) +(?:passed|FAILED|ERROR ) ", second.stdout, re.MULTILINE)
    assert (first.returncode, second.returncode) == (-signal.SIGKILL, 0), second.stdout + second.stderr
    assert rows == MESSAGES
    assert {message: folder.model_calls(message) for message in MESSAGES} == dict.fromkeys(MESSAGES, 1)
