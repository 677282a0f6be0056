"""The functions of workers of the Durable Task SDK: processes of their own that are connected by a stream.

Theory. To the engine they are functions like those of an app. A call is a work item that waits for a worker, goes out
on its stream, and ends when the worker completes it. What a worker has not completed when its stream ends goes to
another one, or to the same one once it is back. So work is done at least once; what it changes is in the step that the
engine commits, once. Which functions there are, only the workers know. One that nobody has fails in the worker that
takes it, as with the scheduler.

A worker says how much of each kind it takes at once, and may name the functions that it has. It gets no more, and no
others: what no connected worker takes waits.
"""

from __future__ import annotations

import asyncio
import uuid
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from durabletask.internal import orchestrator_service_pb2 as pb

from devhost.durable.grpc.history import text_of, wrapped
from devhost.durable.grpc.protocol import PROTOBUF
from devhost.durable.records import ActivityTask
from devhost.ports import DurableKind, FunctionFailedError

_PING_SECONDS = 30.0
"""A worker takes a stream for dead that is silent for two minutes."""
_FIRST_EVENTS = 3
"""In a history that has begun, the start is among so many."""
_REQUESTS: Mapping[DurableKind, tuple[str, Any]] = {
    "orchestrator": ("orchestratorRequest", pb.OrchestratorRequest),
    "activity": ("activityRequest", pb.ActivityRequest),
    "entity": ("entityRequest", pb.EntityBatchRequest),
}


class _Any(Mapping[str, str]):
    """The names of functions that only workers know: each is one, and none is listed."""

    def __getitem__(self, name: str) -> str:
        return name

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True)
class _Function:
    """What a work item calls; the `version` is an orchestration's, empty when it has none."""

    kind: DurableKind
    name: str
    version: str = ""


class _Worker:
    """One connected worker: what its request allows, and the tokens of what it has."""

    def __init__(self, request: pb.GetWorkItemsRequest) -> None:
        self.taken: dict[DurableKind, set[str]] = {"orchestrator": set(), "activity": set(), "entity": set()}
        # 0 is what a worker sends that has no limit, or none of that kind.
        self._most: Mapping[DurableKind, int] = {
            "orchestrator": request.maxConcurrentOrchestrationWorkItems,
            "activity": request.maxConcurrentActivityWorkItems,
            "entity": request.maxConcurrentEntityWorkItems,
        }
        filters = request.workItemFilters
        self._versions: Mapping[DurableKind, Mapping[str, frozenset[str]]] | None = (
            {
                "orchestrator": _versions(filters.orchestrations),
                "activity": _versions(filters.activities),
                "entity": {each.name.lower(): frozenset() for each in filters.entities},
            }
            if request.HasField("workItemFilters")
            else None
        )

    def takes(self, function: _Function) -> bool:
        """Return whether the worker has the function, and may have one more of its kind now."""
        most = self._most[function.kind]
        return self._has(function) and (most <= 0 or len(self.taken[function.kind]) < most)

    def _has(self, function: _Function) -> bool:
        if self._versions is None:
            return True
        versions = self._versions[function.kind].get(function.name)
        return versions is not None and (not versions or function.version in versions)


def _versions(filters: Iterable[Any]) -> Mapping[str, frozenset[str]]:
    """Return by name the versions that are taken; an empty set is any."""
    return {each.name: frozenset(each.versions) for each in filters}


@dataclass
class _Work:
    item: pb.WorkItem
    function: _Function
    worker: _Worker | None = None
    answer: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class WorkerFunctions:
    """Hands calls out to workers; `DurableFunctions` of the engine, in the protocol `WORKERS`."""

    def __init__(self) -> None:
        self._open: dict[str, _Work] = {}
        self._waiting: dict[str, None] = {}  # tokens of open work that no worker has, in their order
        self._changed = asyncio.Event()
        self._streams = 0

    @property
    def has_workers(self) -> bool:
        """Whether one is connected."""
        return self._streams > 0

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return _Any()

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        """Return what a worker answers, base64 of its message; of an activity the result."""
        member, message = _REQUESTS[kind]
        token = uuid.uuid4().hex
        request = message.FromString(b64decode(payload))
        function = _Function(kind, name, _version(request) if kind == "orchestrator" else "")
        work = self._open[token] = _Work(pb.WorkItem(completionToken=token, **{member: request}), function)
        self.take_back(token)
        try:
            return await work.answer
        finally:
            self._leave(token)
            del self._open[token]
            self._waiting.pop(token, None)

    async def work_items(self, request: pb.GetWorkItemsRequest) -> AsyncGenerator[pb.WorkItem, None]:
        """Yield work to the worker of that request until its stream ends.

        What it has not completed by then goes to another worker.
        """
        worker = _Worker(request)
        self._streams += 1
        try:
            while True:
                yield await self._next(worker)
        finally:
            self._streams -= 1
            for token in [token for tokens in worker.taken.values() for token in tokens]:
                self.take_back(token)

    async def _next(self, worker: _Worker) -> pb.WorkItem:
        while (token := self._first_for(worker)) is None:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), _PING_SECONDS)
            except TimeoutError:
                return pb.WorkItem(healthPing=pb.HealthPing())
        del self._waiting[token]
        work = self._open[token]
        work.worker = worker
        worker.taken[work.function.kind].add(token)
        return work.item

    def _first_for(self, worker: _Worker) -> str | None:
        return next((token for token in self._waiting if worker.takes(self._open[token].function)), None)

    def take_back(self, token: str) -> None:
        """Have a worker take the work, if it is still to be done."""
        if token in self._open and not self._open[token].answer.done():
            self._leave(token)
            self._waiting[token] = None

    def _leave(self, token: str) -> None:
        """Have no worker have the work; the one that had it may take other work."""
        work = self._open[token]
        if work.worker is not None:
            work.worker.taken[work.function.kind].discard(token)
            work.worker = None
        self._changed.set()

    def complete(self, token: str, answer: Any) -> None:
        """End the work with the worker's message. Of two workers that had it, the first one counts."""
        work = self._open.get(token)
        if work is None or work.answer.done():
            return
        self._waiting.pop(token, None)
        self._leave(token)
        if not isinstance(answer, pb.ActivityResponse):
            work.answer.set_result(b64encode(answer.SerializeToString()).decode())
        elif answer.HasField("failureDetails"):
            details = answer.failureDetails
            kind = details.errorType.rpartition(".")[2]
            stack = text_of(details, "stackTrace") or ""
            work.answer.set_exception(FunctionFailedError(f"{kind}: {details.errorMessage}", stack))
        else:
            work.answer.set_result(text_of(answer, "result") or "null")


def _version(request: pb.OrchestratorRequest) -> str:
    events = (*request.pastEvents[:_FIRST_EVENTS], *request.newEvents)
    return next((text_of(event.executionStarted, "version") or "" for event in events if _starts(event)), "")


def _starts(event: pb.HistoryEvent) -> bool:
    return bool(event.HasField("executionStarted"))


def _write_activity(task: ActivityTask) -> str:
    request = pb.ActivityRequest(
        name=task.name,
        input=wrapped(task.input),
        taskId=task.task_id,
        orchestrationInstance={"instanceId": task.caller_id, "executionId": wrapped(task.caller_execution_id)},
    )
    return b64encode(request.SerializeToString()).decode()


WORKERS = replace(PROTOBUF, write_activity=_write_activity, holds_versions=False)
"""What the engine speaks with workers."""
