"""The gRPC service by which durable clients start, watch and change instances, and reach entities; and workers work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import Any, NoReturn

import grpc
import grpc.aio
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.internal.orchestrator_service_pb2_grpc import (
    TaskHubSidecarServiceServicer,
    add_TaskHubSidecarServiceServicer_to_server,
)
from google.protobuf.empty_pb2 import Empty

from devhost.durable.clock import Clock, sleep
from devhost.durable.grpc.history import event_message, moment_of, text_of, wrapped
from devhost.durable.grpc.workers import WorkerFunctions
from devhost.durable.hub import Accepted, NotFound, Outcome, Purged, TaskHub, WrongStatus
from devhost.durable.records import Entity, EntityId, Orchestration, Status
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.texts import parse_or_text
from devhost.errors import AddressError

_UNBOUNDED = -1
"""A size of messages: a thread's document may be larger than the four MiB that gRPC begins with."""
_POLL_SECONDS = 0.1
_PAGE = 100
_STATUSES = list(Status)
"""In the order of the protocol's numbers."""


class _TaskHubService(TaskHubSidecarServiceServicer):
    """Answers clients, and workers if there are `workers`: an app's functions are called without a stream."""

    def __init__(self, hub: TaskHub, clock: Clock, workers: WorkerFunctions | None) -> None:
        self._hub = hub
        self._clock = clock
        self._workers = workers

    async def Hello(self, request: Empty, context: Any) -> Empty:
        return Empty()

    async def GetWorkItems(self, request: pb.GetWorkItemsRequest, context: Any) -> AsyncIterator[pb.WorkItem]:
        workers = await self._of_workers(context)
        async with aclosing(workers.work_items(request)) as items:
            async for item in items:
                yield item

    async def CompleteOrchestratorTask(self, request: pb.OrchestratorResponse, context: Any) -> pb.CompleteTaskResponse:
        return await self._complete(request, context)

    async def CompleteActivityTask(self, request: pb.ActivityResponse, context: Any) -> pb.CompleteTaskResponse:
        return await self._complete(request, context)

    async def CompleteEntityTask(self, request: pb.EntityBatchResult, context: Any) -> pb.CompleteTaskResponse:
        return await self._complete(request, context)

    async def _complete(self, request: Any, context: Any) -> pb.CompleteTaskResponse:
        (await self._of_workers(context)).complete(request.completionToken, request)
        return pb.CompleteTaskResponse()

    async def AbandonTaskOrchestratorWorkItem(
        self, request: pb.AbandonOrchestrationTaskRequest, context: Any
    ) -> pb.AbandonOrchestrationTaskResponse:
        (await self._of_workers(context)).take_back(request.completionToken)
        return pb.AbandonOrchestrationTaskResponse()

    async def AbandonTaskActivityWorkItem(
        self, request: pb.AbandonActivityTaskRequest, context: Any
    ) -> pb.AbandonActivityTaskResponse:
        (await self._of_workers(context)).take_back(request.completionToken)
        return pb.AbandonActivityTaskResponse()

    async def AbandonTaskEntityWorkItem(
        self, request: pb.AbandonEntityTaskRequest, context: Any
    ) -> pb.AbandonEntityTaskResponse:
        (await self._of_workers(context)).take_back(request.completionToken)
        return pb.AbandonEntityTaskResponse()

    async def _of_workers(self, context: Any) -> WorkerFunctions:
        if self._workers is None:
            await _refuse(context, grpc.StatusCode.UNIMPLEMENTED, "This host runs the functions of an app: no workers.")
        return self._workers

    async def StartInstance(self, request: pb.CreateInstanceRequest, context: Any) -> pb.CreateInstanceResponse:
        given, version = text_of(request, "input"), text_of(request, "version")
        due = moment_of(request, "scheduledStartTimestamp")
        outcome = await self._hub.start(request.name, request.instanceId or None, given, version, due)
        if isinstance(outcome, WrongStatus):
            text = f"An Orchestration instance with the status {outcome.status.value} already exists."
            await _refuse(context, grpc.StatusCode.ALREADY_EXISTS, text)
        return pb.CreateInstanceResponse(instanceId=outcome.instance_id)

    async def GetInstance(self, request: pb.GetInstanceRequest, context: Any) -> pb.GetInstanceResponse:
        return _instance_response(await self._hub.store.instance(request.instanceId), request.getInputsAndOutputs)

    async def WaitForInstanceStart(self, request: pb.GetInstanceRequest, context: Any) -> pb.GetInstanceResponse:
        return await self._wait(request, lambda instance: instance.status is not Status.PENDING)

    async def WaitForInstanceCompletion(self, request: pb.GetInstanceRequest, context: Any) -> pb.GetInstanceResponse:
        return await self._wait(request, lambda instance: instance.status.is_terminal)

    async def _wait(
        self, request: pb.GetInstanceRequest, is_met: Callable[[Orchestration], bool]
    ) -> pb.GetInstanceResponse:
        while (instance := await self._hub.store.instance(request.instanceId)) is not None and not is_met(instance):
            await sleep(self._clock, _POLL_SECONDS)
        return _instance_response(instance, request.getInputsAndOutputs)

    async def QueryInstances(self, request: pb.QueryInstancesRequest, context: Any) -> pb.QueryInstancesResponse:
        query = request.query
        size = query.maxInstanceCount or _PAGE
        found = await self._hub.store.list_orchestrations(_filter(query), query.continuationToken.value, size + 1)
        return pb.QueryInstancesResponse(
            orchestrationState=[_state(instance, query.fetchInputsAndOutputs) for instance in found[:size]],
            continuationToken=wrapped(found[size].instance_id if len(found) > size else None),
        )

    async def ListInstanceIds(self, request: pb.ListInstanceIdsRequest, context: Any) -> pb.ListInstanceIdsResponse:
        """Those that have ended, as the export of histories asks for them."""
        size = request.pageSize or _PAGE
        statuses = frozenset(_STATUSES[number] for number in request.runtimeStatus)
        wanted = InstanceFilter(statuses=statuses or frozenset(status for status in Status if status.is_terminal))
        ended = await self._hub.store.list_orchestrations(wanted, request.lastInstanceKey.value, None)
        is_in_time = _within(request, "completedTimeFrom", "completedTimeTo")
        ids = [each.instance_id for each in ended if each.status.is_terminal and is_in_time(each.updated_at)]
        following = wrapped(ids[size] if len(ids) > size else None)
        return pb.ListInstanceIdsResponse(instanceIds=ids[:size], lastInstanceKey=following)

    async def StreamInstanceHistory(
        self, request: pb.StreamInstanceHistoryRequest, context: Any
    ) -> AsyncIterator[pb.HistoryChunk]:
        stored = await self._hub.store.orchestration(request.instanceId)
        if stored is None:
            await _refuse(context, grpc.StatusCode.NOT_FOUND, _missing(request.instanceId))
        yield pb.HistoryChunk(events=[event_message(event) for event in stored.history])

    async def RaiseEvent(self, request: pb.RaiseEventRequest, context: Any) -> pb.RaiseEventResponse:
        given = text_of(request, "input") or "null"
        await _check(context, request, await self._hub.raise_event(request.instanceId, request.name, given))
        return pb.RaiseEventResponse()

    async def TerminateInstance(self, request: pb.TerminateRequest, context: Any) -> pb.TerminateResponse:
        output = text_of(request, "output")
        reason = parse_or_text(output)  # the engine keeps a text, and makes it JSON
        reason = reason if isinstance(reason, str) else output
        await _check(context, request, await self._hub.terminate(request.instanceId, reason))
        return pb.TerminateResponse()

    async def SuspendInstance(self, request: pb.SuspendRequest, context: Any) -> pb.SuspendResponse:
        await _check(context, request, await self._hub.suspend(request.instanceId, text_of(request, "reason")))
        return pb.SuspendResponse()

    async def ResumeInstance(self, request: pb.ResumeRequest, context: Any) -> pb.ResumeResponse:
        await _check(context, request, await self._hub.resume(request.instanceId, text_of(request, "reason")))
        return pb.ResumeResponse()

    async def RewindInstance(self, request: pb.RewindInstanceRequest, context: Any) -> pb.RewindInstanceResponse:
        await _check(context, request, await self._hub.rewind(request.instanceId, text_of(request, "reason")))
        return pb.RewindInstanceResponse()

    async def RestartInstance(self, request: pb.RestartInstanceRequest, context: Any) -> pb.RestartInstanceResponse:
        outcome = await self._hub.restart(request.instanceId, request.restartWithNewInstanceId)
        return pb.RestartInstanceResponse(instanceId=await _check(context, request, outcome))

    async def PurgeInstances(self, request: pb.PurgeInstancesRequest, context: Any) -> pb.PurgeInstancesResponse:
        ids = [request.instanceId] if request.HasField("instanceId") else list(request.instanceBatch.instanceIds)
        if request.HasField("purgeInstanceFilter"):
            purged = await self._hub.purge_ended(_filter(request.purgeInstanceFilter))
            return pb.PurgeInstancesResponse(deletedInstanceCount=purged.count, isComplete={"value": True})
        outcomes = [await self._purge(instance_id) for instance_id in ids]
        count = sum(outcome.count for outcome in outcomes if isinstance(outcome, Purged))
        return pb.PurgeInstancesResponse(deletedInstanceCount=count, isComplete={"value": True})

    async def _purge(self, instance_id: str) -> Purged | NotFound | WrongStatus:
        if instance_id.startswith("@"):
            return await self._hub.purge_entity(EntityId.parse(instance_id))
        return await self._hub.purge(instance_id)

    async def SignalEntity(self, request: pb.SignalEntityRequest, context: Any) -> pb.SignalEntityResponse:
        due = moment_of(request, "scheduledTime")
        entity_id = EntityId.parse(request.instanceId)
        await self._hub.signal(entity_id, request.name, text_of(request, "input"), request.requestId or None, due)
        return pb.SignalEntityResponse()

    async def GetEntity(self, request: pb.GetEntityRequest, context: Any) -> pb.GetEntityResponse:
        entity = await self._hub.store.entity(EntityId.parse(request.instanceId))
        if entity is None or not entity.exists:
            return pb.GetEntityResponse(exists=False)
        return pb.GetEntityResponse(exists=True, entity=_metadata(entity, request.includeState))

    async def QueryEntities(self, request: pb.QueryEntitiesRequest, context: Any) -> pb.QueryEntitiesResponse:
        query = request.query
        size = query.pageSize.value or _PAGE
        prefix = query.instanceIdStartsWith.value or "@"
        found = await self._hub.store.list_entities(prefix, query.continuationToken.value, size + 1)
        is_in_time = _within(query, "lastModifiedFrom", "lastModifiedTo")
        shown = [
            entity
            for entity in found[:size]
            if (entity.exists or query.includeTransient) and is_in_time(entity.updated_at)
        ]
        return pb.QueryEntitiesResponse(
            entities=[_metadata(entity, query.includeState) for entity in shown],
            continuationToken=wrapped(str(found[size].id) if len(found) > size else None),
        )

    async def CleanEntityStorage(
        self, request: pb.CleanEntityStorageRequest, context: Any
    ) -> pb.CleanEntityStorageResponse:
        """An entity without a state that is locked goes with the next call, once its lock is free."""
        entities = await self._hub.store.list_entities("@", "", None) if request.removeEmptyEntities else ()
        released = await self._hub.release_orphaned_locks() if request.releaseOrphanedLocks else 0
        empty = [entity for entity in entities if not entity.exists and entity.lock is None]
        removed = [await self._hub.purge_entity(entity.id) for entity in empty]
        return pb.CleanEntityStorageResponse(emptyEntitiesRemoved=len(removed), orphanedLocksReleased=released)


async def _check(context: Any, request: Any, outcome: Outcome) -> str:
    """Return the id of what was accepted; else end the call as refused."""
    if isinstance(outcome, Accepted):
        return outcome.instance_id
    if isinstance(outcome, NotFound):
        await _refuse(context, grpc.StatusCode.NOT_FOUND, _missing(request.instanceId))
    text = f"The instance '{request.instanceId}' has the status {outcome.status.value}, which does not allow this."
    return await _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, text)


async def _refuse(context: Any, code: grpc.StatusCode, text: str) -> NoReturn:
    await context.abort(code, text)
    raise AssertionError  # abort raises


def _missing(instance_id: str) -> str:
    return f"There is no instance '{instance_id}'."


def _instance_response(instance: Orchestration | None, shows_texts: bool) -> pb.GetInstanceResponse:
    if instance is None:
        return pb.GetInstanceResponse(exists=False)
    return pb.GetInstanceResponse(exists=True, orchestrationState=_state(instance, shows_texts))


def _state(instance: Orchestration, shows_texts: bool) -> pb.OrchestrationState:
    is_failed = instance.status is Status.FAILED
    failure = {"errorType": "OrchestrationFailed", "errorMessage": instance.output or ""} if is_failed else None
    return pb.OrchestrationState(
        instanceId=instance.instance_id,
        name=instance.name,
        version=wrapped(instance.version),
        orchestrationStatus=pb.OrchestrationStatus.Name(instance.status.number),
        createdTimestamp=instance.created_at,
        lastUpdatedTimestamp=instance.updated_at,
        input=wrapped(instance.input if shows_texts else None),
        output=wrapped(instance.output if shows_texts else None),
        customStatus=wrapped(instance.custom_status if shows_texts else None),
        failureDetails=failure,
        executionId=wrapped(instance.execution_id),
        parentInstanceId=wrapped(instance.parent.instance_id if instance.parent else None),
    )


def _filter(query: Any) -> InstanceFilter:
    return InstanceFilter(
        prefix=query.instanceIdPrefix.value if hasattr(query, "instanceIdPrefix") else "",
        statuses=frozenset(_STATUSES[number] for number in query.runtimeStatus),
        created_from=moment_of(query, "createdTimeFrom"),
        created_to=moment_of(query, "createdTimeTo"),
    )


def _within(query: Any, first: str, last: str) -> Callable[[datetime], bool]:
    """Return what says whether a moment is between two of a query, if it names them."""
    earliest, latest = moment_of(query, first), moment_of(query, last)
    return lambda time: (earliest is None or time >= earliest) and (latest is None or time <= latest)


def _metadata(entity: Entity, shows_state: bool) -> pb.EntityMetadata:
    return pb.EntityMetadata(
        instanceId=str(entity.id),
        lastModifiedTime=entity.updated_at,
        lockedBy=wrapped(entity.lock.holder_id if entity.lock else None),
        serializedState=wrapped(entity.state if shows_state else None),
    )


class TaskHubServer:
    """Serves the clients of one task hub, and its workers, on a port of its own that only this machine reaches."""

    def __init__(self, hub: TaskHub, clock: Clock, workers: WorkerFunctions | None = None) -> None:
        self._service = _TaskHubService(hub, clock, workers)
        self._server: grpc.aio.Server | None = None

    async def start(self, port: int = 0) -> str:
        """Listen, and return the URL for clients; port 0 is a free one. Raises `AddressError` for a port in use."""
        options = [(f"grpc.max_{kind}_message_length", _UNBOUNDED) for kind in ("send", "receive")]
        self._server = grpc.aio.server(options=[*options, ("grpc.so_reuseport", 0)])
        add_TaskHubSidecarServiceServicer_to_server(self._service, self._server)  # type: ignore[no-untyped-call]
        try:
            port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        except RuntimeError as error:
            raise AddressError(f"Port {port} of 127.0.0.1 is in use. Choose another one with --port.") from error
        await self._server.start()
        return f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        """Answer nobody any more."""
        if self._server is not None:
            await self._server.stop(None)
