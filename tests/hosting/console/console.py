"""A Durable Task engine in memory, on loopback; and one with a worker, with its clients, for tests that kill none."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from durabletask.client import TaskHubGrpcClient
from durabletask.entities import EntityInstanceId
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.internal import orchestrator_service_pb2_grpc as stubs
from durabletask.testing import InMemoryOrchestrationBackend

from hosting.console.client import AgentClient
from hosting.core.thread.events import Event
from hosting.core.thread_log import ThreadLog
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_stores

GUARD_SECONDS = 5


class TaskHub(InMemoryOrchestrationBackend):
    """The SDK's engine; as the Durable Task Scheduler does, it hands work out again whose worker is gone."""

    def GetWorkItems(self, request: Any, context: Any) -> Iterator[Any]:
        """Hand out work until the worker goes; what is not completed by then is abandoned for it."""
        handed_out = []
        try:
            for item in super().GetWorkItems(request, context):
                handed_out.append(item)
                yield item
        finally:
            for item in handed_out:
                self._take_back(item, context)

    def _take_back(self, item: Any, context: Any) -> None:
        """Abandon the item; one that was completed has another token by now."""
        token = item.completionToken
        if item.HasField("entityRequestV2"):
            self.AbandonTaskEntityWorkItem(pb.AbandonEntityTaskRequest(completionToken=token), context)
        else:
            self.AbandonTaskOrchestratorWorkItem(pb.AbandonOrchestrationTaskRequest(completionToken=token), context)


@contextmanager
def task_hub() -> Iterator[str]:
    """Serve an engine within the block; its address."""
    hub = TaskHub()
    server = grpc.server(ThreadPoolExecutor(10))
    stubs.add_TaskHubSidecarServiceServicer_to_server(hub, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        hub.stop()
        server.stop(None).wait()


@dataclass(frozen=True)
class Console:
    """An engine with a worker, and what says where the worker's stores are."""

    address: str
    options: Mapping[str, Any]

    def client(self, **environ: str) -> AgentClient:
        """Return a client beside the worker, with these settings of its own."""
        return AgentClient(self.task_hub(), **{**self.options, "environ": {**self.options["environ"], **environ}})

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


def stored(hub: TaskHubGrpcClient, agent: str, thread_id: str, guard_seconds: float = GUARD_SECONDS) -> str:
    """Return a thread's document once there is one, under the guard: it is stored behind the answer."""
    end = time.monotonic() + guard_seconds
    while (found := hub.get_entity(EntityInstanceId(f"dafx-{agent}", thread_id))) is None or not found.get_state():
        assert time.monotonic() < end, f"thread {thread_id!r} of agent {agent!r} has no document"
        time.sleep(0.01)  # the engine tells nobody
    return str(found.get_state())


async def logged(options: Mapping[str, Any], agent: str, threads: Iterable[str]) -> dict[str, list[Event]]:
    """Return the events of threads, as the log has them that a worker with these options keeps."""
    environ, hub = options["environ"], options["hub"]
    stores = choose_stores(read_settings(environ), options["folder"], environ, hub)
    log = ThreadLog(stores.threads, stores.attachments, hub)
    try:
        return {name: [event for _, event in await log.events(Address.of(agent, name), 0)] for name in threads}
    finally:
        await log.close()
