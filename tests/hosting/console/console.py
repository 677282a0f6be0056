"""An engine with a worker, and its clients, for tests that kill none."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from durabletask.client import TaskHubGrpcClient
from durabletask.entities import EntityInstanceId

from hosting.console.client import AgentClient

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


def stored(hub: TaskHubGrpcClient, agent: str, thread_id: str) -> str:
    """Return a thread's document once there is one, under the guard: it is stored behind the answer."""
    end = time.monotonic() + GUARD_SECONDS
    while (found := hub.get_entity(EntityInstanceId(f"dafx-{agent}", thread_id))) is None or not found.get_state():
        assert time.monotonic() < end, f"thread {thread_id!r} of agent {agent!r} has no document"
        time.sleep(0.01)  # the engine tells nobody
    return str(found.get_state())
