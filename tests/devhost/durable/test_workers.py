"""Workers of the Durable Task SDK against the engine: processes of their own, connected by a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
import pytest
from durabletask.client import AsyncTaskHubGrpcClient, OrchestrationStatus
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.internal.orchestrator_service_pb2_grpc import TaskHubSidecarServiceStub
from durabletask.task import ActivityContext
from durabletask.worker import TaskHubGrpcWorker

from devhost.durable.engine import DurableTask
from devhost.durable.grpc.service import TaskHubServer
from devhost.durable.grpc.workers import WORKERS, WorkerFunctions
from devhost.durable.settings import DurableSettings
from devhost.errors import AddressError
from tests.devhost.durable.protobuf_functions import add, child, entity_counter
from tests.support.engine_clocks import FastClock
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.behaviour("engine.workers")

GUARD_SECONDS = 10
DOUBLES = 3
"""How often `add` calls the activity."""


@asynccontextmanager
async def hub() -> AsyncIterator[str]:
    """Serve an engine for workers; its address."""
    functions, clock = WorkerFunctions(), FastClock()
    engine = DurableTask(functions, MemoryStore(), DurableSettings(), clock, protocol=WORKERS)
    server = TaskHubServer(engine.hub, clock, functions)
    await engine.start()
    try:
        yield (await server.start()).removeprefix("http://")
    finally:
        await server.stop()
        await engine.stop(0)


@asynccontextmanager
async def worker(address: str, acted: list[tuple[str, int]]) -> AsyncIterator[None]:
    """Run a worker within the block; `acted` is what its activity did, and as which task. It blocks: in a thread."""

    def act_double(context: ActivityContext, given: Any) -> Any:
        acted.append((context.orchestration_id, context.task_id))
        return 2 * given

    made = TaskHubGrpcWorker(host_address=address, secure_channel=False)
    for orchestrator in (add, child):
        made.add_orchestrator(orchestrator)
    made.add_activity(act_double)
    made.add_entity(entity_counter)
    await asyncio.to_thread(made.start)
    try:
        yield
    finally:
        await asyncio.to_thread(made.stop)


def stub_of(channel: grpc.aio.Channel) -> Any:
    """What the SDK's worker calls its hub by."""
    return TaskHubSidecarServiceStub(channel)  # type: ignore[no-untyped-call]


async def ended(client: AsyncTaskHubGrpcClient, instance_id: str) -> Any:
    """The instance once it has ended."""
    return await asyncio.wait_for(client.wait_for_orchestration_completion(instance_id), GUARD_SECONDS)


async def test_a_worker_runs_each_kind_of_function() -> None:
    """Orchestrators, activities by their task, and entities; each once."""
    acted: list[tuple[str, int]] = []
    async with hub() as address, AsyncTaskHubGrpcClient(host_address=address) as client, worker(address, acted):
        instance_id = await client.schedule_new_orchestration("add", input=4)
        state = await ended(client, instance_id)

    assert state.get_output() == [8, [2, 4], {"got": {"n": 8}, "parent": instance_id}, 5]
    assert acted == [(instance_id, number) for number in (1, 2, 3)]


async def test_work_waits_for_a_worker_and_goes_to_another_one_when_its_worker_is_gone() -> None:
    acted: list[tuple[str, int]] = []
    async with hub() as address, AsyncTaskHubGrpcClient(host_address=address) as client:
        instance_id = await client.schedule_new_orchestration("add", input=4)
        async with grpc.aio.insecure_channel(address) as channel:  # a worker that dies of what it takes
            stream = stub_of(channel).GetWorkItems(pb.GetWorkItemsRequest())
            taken = await asyncio.wait_for(stream.read(), GUARD_SECONDS)
        async with worker(address, acted):
            state = await ended(client, instance_id)

    assert taken.orchestratorRequest.instanceId == instance_id
    assert state.runtime_status is OrchestrationStatus.COMPLETED
    assert len(acted) == DOUBLES


async def test_abandoned_work_is_handed_out_again_and_completed_once() -> None:
    async with hub() as address, AsyncTaskHubGrpcClient(host_address=address) as client:
        instance_id = await client.schedule_new_orchestration("add", input=4)
        async with grpc.aio.insecure_channel(address) as channel:
            stub = stub_of(channel)
            stream = stub.GetWorkItems(pb.GetWorkItemsRequest())
            first = await asyncio.wait_for(stream.read(), GUARD_SECONDS)
            request = pb.AbandonOrchestrationTaskRequest(completionToken=first.completionToken)
            await stub.AbandonTaskOrchestratorWorkItem(request)
            again = await asyncio.wait_for(stream.read(), GUARD_SECONDS)
            for output in ("1", "2"):
                await stub.CompleteOrchestratorTask(completed(again, output))
            state = await ended(client, instance_id)

    assert first == again
    assert state.get_output() == 1


def completed(item: pb.WorkItem, output: str) -> pb.OrchestratorResponse:
    """The answer to an orchestration's work by which it ends."""
    end = {"orchestrationStatus": pb.ORCHESTRATION_STATUS_COMPLETED, "result": {"value": output}}
    action = pb.OrchestratorAction(id=1, completeOrchestration=end)
    instance_id = item.orchestratorRequest.instanceId
    return pb.OrchestratorResponse(instanceId=instance_id, completionToken=item.completionToken, actions=[action])


async def test_a_port_that_is_in_use_is_refused() -> None:
    clock = FastClock()
    engine = DurableTask(WorkerFunctions(), MemoryStore(), DurableSettings(), clock, protocol=WORKERS)
    async with hub() as address:
        port = int(address.rpartition(":")[2])
        with pytest.raises(AddressError, match=f"Port {port} of 127.0.0.1 is in use"):
            await TaskHubServer(engine.hub, clock).start(port)
