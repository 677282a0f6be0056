"""One engine and one worker for all tests that kill none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from durabletask.client import TaskHubGrpcClient

from hosting.console.client import AgentClient
from tests.hosting.console.orchestrators import console_worker
from tests.hosting.console.task_hub import task_hub

GUARD_SECONDS = 5


@dataclass(frozen=True)
class Console:
    """An engine with a worker, and where the worker's stores are."""

    address: str
    folder: Path

    def client(self, **environ: str) -> AgentClient:
        """Return a client beside the worker."""
        return AgentClient(self.task_hub(), environ=environ, folder=self.folder)

    def task_hub(self) -> TaskHubGrpcClient:
        """Return a client of the SDK."""
        return TaskHubGrpcClient(host_address=self.address)

    def result(self, orchestrator: str, given: Any) -> tuple[str, str | None]:
        """Start an orchestration; its status and what it gave, or why it failed, once it has ended."""
        with self.task_hub() as client:
            instance_id = client.schedule_new_orchestration(orchestrator, input=given)
            state = client.wait_for_orchestration_completion(instance_id, timeout=GUARD_SECONDS)
        assert state is not None
        failure = state.failure_details
        return state.runtime_status.name, state.serialized_output if failure is None else failure.message


@pytest.fixture(scope="package")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The engine and its worker."""
    folder = tmp_path_factory.mktemp("console")
    with task_hub() as address, console_worker(address, environ={}, folder=folder):
        yield Console(address, folder)
