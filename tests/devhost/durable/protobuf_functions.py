"""`DurableFunctions` in the protocol of the SDK 2.x, executed by the Durable Task SDK that it builds on."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from durabletask.client import AsyncTaskHubGrpcClient, OrchestrationState, OrchestrationStatus
from durabletask.entities import EntityContext, EntityInstanceId
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.task import OrchestrationContext, when_all
from durabletask.worker import TaskHubGrpcWorker

from devhost.durable.clock import Clock
from devhost.durable.engine import DurableTask
from devhost.durable.grpc.protocol import PROTOBUF
from devhost.durable.grpc.service import TaskHubServer
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import Store
from devhost.durable.unkind import KIND, Unkind
from devhost.ports import DurableKind, FunctionFailedError
from tests.support.engine_clocks import FastClock
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import ObservedStore

Steps = Generator[Any, Any, Any]
COUNTER = EntityInstanceId("entity_counter", "k")


def entity_counter(context: EntityContext, given: Any) -> Any:
    total = context.get_state(int, 0) + (given or 0)
    context.set_state(total)
    if context.operation == "tell":
        context.signal_entity(EntityInstanceId("entity_counter", "other"), "add", total)
    return total


def add(context: OrchestrationContext, given: Any) -> Steps:
    """Use each kind of task, alone and together."""
    first = yield context.call_activity("act_double", input=given)
    both = yield when_all([context.call_activity("act_double", input=n) for n in (1, 2)])
    yield context.create_timer(timedelta(seconds=5))
    child = yield context.call_sub_orchestrator("child", input={"n": first})
    total = yield context.call_entity(COUNTER, "add", 5)
    context.signal_entity(COUNTER, "tell", 1)
    context.set_custom_status({"step": "last"})
    return [first, both, child, total]


def child(context: OrchestrationContext, given: Any) -> Any:
    return {"got": given, "parent": context.parent_instance_id}


class Answer:
    """Takes what the SDK's worker sends to its engine."""

    def __init__(self) -> None:
        self.message: Any = None

    def CompleteOrchestratorTask(self, response: Any) -> None:
        self.message = response

    def CompleteEntityTask(self, response: Any) -> None:
        self.message = response


class ProtobufFunctions:
    """Functions by their names: orchestrators and entities of the Durable Task SDK, activities of plain values."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        """An entity's name begins with `entity_`, an activity's with `act_`; counts the calls of activities."""
        self.acted: list[str] = []
        self._functions = functions
        self._worker = TaskHubGrpcWorker()
        for name, function in functions.items():
            if self._kind(name) == "orchestrator":
                self._worker._registry.add_named_orchestrator(name, function)
            elif self._kind(name) == "entity":
                self._worker._registry.add_named_entity(name, function)

    @staticmethod
    def _kind(name: str) -> DurableKind:
        return "entity" if name.startswith("entity_") else "activity" if name.startswith("act_") else "orchestrator"

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return {name: name for name in self._functions if self._kind(name) == kind}

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        if kind == "activity":
            self.acted.append(name)
            try:
                return json.dumps(self._functions[name](json.loads(payload)))
            except Exception as error:
                raise FunctionFailedError.of(error) from error
        answer = Answer()
        if kind == "orchestrator":
            request = pb.OrchestratorRequest.FromString(b64decode(payload))
            await asyncio.to_thread(self._worker._execute_orchestrator, request, answer, "")
        else:
            batch = pb.EntityBatchRequest.FromString(b64decode(payload))
            await asyncio.to_thread(self._worker._execute_entity_batch, batch, answer, "")
        return b64encode(answer.message.SerializeToString()).decode()


class Served:
    """An engine that speaks protobuf, with a client of the Durable Task SDK."""

    def __init__(self, engine: DurableTask, store: ObservedStore, client: AsyncTaskHubGrpcClient, address: str) -> None:
        self.engine = engine
        self.store = store
        self.client = client
        self.address = address

    async def ended(self, instance_id: str) -> OrchestrationState:
        """Return the instance once it has ended."""
        state = await self.client.wait_for_orchestration_completion(instance_id, timeout=20)
        assert state is not None
        return state

    async def run(self, name: str, given: Any = None, **options: Any) -> OrchestrationState:
        """Start an orchestration, and return it once it has ended."""
        return await self.ended(await self.client.schedule_new_orchestration(name, input=given, **options))

    async def until_status(self, instance_id: str, status: OrchestrationStatus) -> None:
        async def is_there() -> bool:
            found = await self.client.get_orchestration_state(instance_id)
            return found is not None and found.runtime_status is status

        await self.store.until(is_there)

    async def until_state(self, entity: EntityInstanceId, text: str) -> None:
        async def is_there() -> bool:
            found = await self.client.get_entity(entity)
            return found is not None and found.get_state() == text

        await self.store.until(is_there)


@asynccontextmanager
async def served(
    functions: ProtobufFunctions,
    *,
    inner: Store | None = None,
    dies_at: int | None = None,
    clock: Clock | None = None,
    settings: DurableSettings | None = None,
    unkind: Unkind = KIND,
) -> AsyncIterator[Served]:
    """Run the functions on an engine over `inner`, a memory store when none is given, behind the gRPC service.

    With `dies_at` the store dies as `ObservedStore` says.
    """
    store, clock = ObservedStore(inner or MemoryStore(), dies_at), clock or FastClock()
    limits = settings or DurableSettings()
    engine = DurableTask(functions, store, limits, clock, protocol=PROTOBUF, unkind=unkind)
    server = TaskHubServer(engine.hub, clock)
    await engine.start()
    address = (await server.start()).removeprefix("http://")
    client = AsyncTaskHubGrpcClient(host_address=address, secure_channel=False)
    try:
        yield Served(engine, store, client, address)
    finally:
        await client.close()
        await server.stop()
        await engine.stop(0)
