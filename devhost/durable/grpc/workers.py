"""The functions of workers of the Durable Task SDK: processes of their own that are connected by a stream.

Theory. To the engine they are functions like those of an app. A call is a work item that waits for a worker, goes out
on its stream, and ends when the worker completes it. What a worker has not completed when its stream ends goes to
another one, or to the same one once it is back. So work is done at least once; what it changes is in the step that the
engine commits, once. Which functions there are, only the workers know. One that nobody has fails in the worker that
takes it, as with the scheduler.
"""

from __future__ import annotations

import asyncio
import uuid
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from durabletask.internal import orchestrator_service_pb2 as pb

from devhost.durable.grpc.history import text_of, wrapped
from devhost.durable.grpc.protocol import PROTOBUF
from devhost.durable.records import ActivityTask
from devhost.ports import DurableKind, FunctionFailedError

_PING_SECONDS = 30.0
"""A worker takes a stream for dead that is silent for two minutes."""
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
class _Work:
    item: pb.WorkItem
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
        work = self._open[token] = _Work(pb.WorkItem(completionToken=token, **{member: request}))
        self.take_back(token)
        try:
            return await work.answer
        finally:
            del self._open[token]
            self._waiting.pop(token, None)

    async def work_items(self) -> AsyncGenerator[pb.WorkItem, None]:
        """Yield work to one worker until its stream ends; what it has not completed by then goes to another."""
        taken: list[str] = []
        self._streams += 1
        try:
            while True:
                item = await self._next()
                if item.completionToken:
                    taken = [token for token in taken if token in self._open] + [item.completionToken]
                yield item
        finally:
            self._streams -= 1
            for token in taken:
                self.take_back(token)

    async def _next(self) -> pb.WorkItem:
        while not self._waiting:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), _PING_SECONDS)
            except TimeoutError:
                return pb.WorkItem(healthPing=pb.HealthPing())
        token = next(iter(self._waiting))
        del self._waiting[token]
        return self._open[token].item

    def take_back(self, token: str) -> None:
        """Have a worker take the work, if it is still to be done."""
        if token in self._open and not self._open[token].answer.done():
            self._waiting[token] = None
            self._changed.set()

    def complete(self, token: str, answer: Any) -> None:
        """End the work with the worker's message. Of two workers that had it, the first one counts."""
        work = self._open.get(token)
        if work is None or work.answer.done():
            return
        self._waiting.pop(token, None)
        if not isinstance(answer, pb.ActivityResponse):
            work.answer.set_result(b64encode(answer.SerializeToString()).decode())
        elif answer.HasField("failureDetails"):
            details = answer.failureDetails
            kind = details.errorType.rpartition(".")[2]
            stack = text_of(details, "stackTrace") or ""
            work.answer.set_exception(FunctionFailedError(f"{kind}: {details.errorMessage}", stack))
        else:
            work.answer.set_result(text_of(answer, "result") or "null")


def _write_activity(task: ActivityTask) -> str:
    request = pb.ActivityRequest(
        name=task.name,
        input=wrapped(task.input),
        taskId=task.task_id,
        orchestrationInstance={"instanceId": task.caller_id, "executionId": wrapped(task.caller_execution_id)},
    )
    return b64encode(request.SerializeToString()).decode()


WORKERS = replace(PROTOBUF, write_activity=_write_activity)
"""What the engine speaks with workers."""
