"""Workers that are killed by SIGKILL: the engine hands their work to another, which goes on from the log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from durabletask.client import TaskHubGrpcClient

from hosting.console.client import AgentClient
from tests.hosting.console.task_hub import task_hub
from tests.hosting.console.worker_processes import messages_run, until_model_called, worker_process
from tests.support.kept_in import over, settings_of
from tests.support.running_host import START_GUARD_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("console.killed")]


@pytest.fixture
def stores(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of the kind of stores that a test names as its parameter."""
    return settings_of(request.param, request)


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
