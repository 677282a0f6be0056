"""A worker with agents on the local host's task hub: `python -m devhost workers`, a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from durabletask.client import TaskHubGrpcClient

from tests.hosting.console.worker_processes import messages_run, until_model_called, worker_process
from tests.support.kept_in import settings_of
from tests.support.warm_python import ROOT

pytestmark = [pytest.mark.behaviour("console.local-hub"), pytest.mark.slow]

REJOINED_SECONDS = 60
"""How long the SDK's worker may take until it looks for its hub again."""


@contextmanager
def hub(folder: Path, port: str = "0") -> Iterator[str]:
    """Serve a task hub whose files are in the folder; its address. It is killed at the end of the block."""
    command = [sys.executable, "-m", "devhost", "workers", "--port", port]
    process = subprocess.Popen(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.timeout(120)
def test_an_orchestration_goes_on_when_its_killed_hub_is_there_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The worker ends its run meanwhile, and finds the hub again: the model was asked once."""
    stores = settings_of("sqlite", request)
    with ExitStack() as stack:
        with hub(tmp_path) as address, TaskHubGrpcClient(host_address=address) as client:
            stack.enter_context(worker_process(address, tmp_path, stores))
            instance_id = client.schedule_new_orchestration("nap_after_a_draft", input="a poem")
            until_model_called(tmp_path, "sleep 0.5")
        stack.enter_context(hub(tmp_path, address.rpartition(":")[2]))
        client = stack.enter_context(TaskHubGrpcClient(host_address=address))
        state = client.wait_for_orchestration_completion(instance_id, timeout=REJOINED_SECONDS)

    assert state is not None
    assert state.serialized_output == json.dumps(["echo: a poem", "echo: sleep 0.5"])
    assert messages_run(tmp_path) == ["a poem", "sleep 0.5"]
