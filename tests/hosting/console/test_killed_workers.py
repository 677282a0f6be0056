"""Workers killed by SIGKILL, whose work another does from the log; and a killed hub, the local host's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from durabletask.client import TaskHubGrpcClient

from hosting.console.client import AgentClient
from tests.hosting.console.console import task_hub
from tests.hosting.console.worker_processes import messages_run, until_model_called, worker_process
from tests.support.kept_in import over, settings_of
from tests.support.running_host import START_GUARD_SECONDS
from tests.support.warm_python import ROOT

pytestmark = pytest.mark.slow

REJOINED_SECONDS = 60
"""How long the SDK's worker may take until it looks for its hub again."""


@pytest.fixture
def stores(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of the kind of stores that a test names as its parameter."""
    return settings_of(request.param, request)


@pytest.mark.behaviour("console.killed")
@over("stores", "sqlite", "tables")
def test_an_orchestration_goes_on_in_another_worker_and_asks_for_no_recorded_answer_again(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """Killed while the second run's model works: the first is not called again, the second is, as the same run."""
    with task_hub() as address, TaskHubGrpcClient(host_address=address) as hub:
        with worker_process(address, tmp_path, stores):
            started = hub.schedule_new_orchestration("nap_after_a_draft", input="a poem")
            until_model_called(tmp_path, "sleep 0.5")
        with worker_process(address, tmp_path, stores):
            state = hub.wait_for_orchestration_completion(started, timeout=START_GUARD_SECONDS)

    assert state is not None
    assert state.serialized_output == '["echo: a poem", "echo: sleep 0.5"]'
    assert messages_run(tmp_path) == ["a poem", "sleep 0.5", "sleep 0.5"]


@pytest.mark.behaviour("console.killed")
@over("stores", "sqlite", "redis")
def test_a_client_waits_through_the_death_of_the_worker(tmp_path: Path, stores: dict[str, str]) -> None:
    """Its run ends in another one, and has one place in the conversation."""
    with (
        task_hub() as address,
        TaskHubGrpcClient(host_address=address) as hub,
        AgentClient(hub, environ=stores, folder=tmp_path) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        writer = client.get_agent("writer")
        session = writer.create_session()
        with worker_process(address, tmp_path, stores):
            waiting = threads.submit(writer.run, "sleep 0.5", session=session)
            until_model_called(tmp_path, "sleep 0.5")
        with worker_process(address, tmp_path, stores):
            response = waiting.result(START_GUARD_SECONDS)
            counted = writer.run("count", session=session)

    assert (response.text, counted.text) == ("echo: sleep 0.5", "3")
    assert messages_run(tmp_path) == ["sleep 0.5", "sleep 0.5", "count"]


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


@pytest.mark.behaviour("console.local-hub")
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
