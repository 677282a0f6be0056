"""A Durable Task engine in memory, on loopback: the SDK's own, which hands out again what a lost worker held."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.internal import orchestrator_service_pb2_grpc as stubs
from durabletask.testing import InMemoryOrchestrationBackend


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
