"""The orchestrations of features, without replay: they sleep by the cluster's time, and a process that lives works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hosting.core.hooks import ENTITY
from hosting.errors import EngineUnavailableError, StoreUnavailableError
from hosting.feature import Activity, Orchestration
from tests.support.cluster.engine import Signal
from tests.support.cluster.life import DiedError

if TYPE_CHECKING:
    from tests.support.cluster.cluster import AppProcess, Cluster

AGAIN_SECONDS = 5.0
"""After so long work is done again in which a process died, or a store or the engine was away."""


class Orchestrations:
    """Those of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, instance_id: str) -> None:
        """Run one that was started, until it ends or is ended; it is no part of the process that started it."""
        task: asyncio.Task[None] = Context().run(asyncio.ensure_future, self._run(instance_id))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, instance_id: str) -> None:
        clocks = self._cluster.engine.clocks
        while (begun := clocks.get(instance_id)) is not None:
            name, given = begun
            context = _Context(self, given)
            steps = (await self._alive()).declared(Orchestration)[name].run(context)
            resume, value = steps.send, None
            try:
                while clocks.get(instance_id) is begun:
                    task = resume(value)
                    await asyncio.wait((task,))
                    error = task.exception()
                    resume, value = (steps.send, task.result()) if error is None else (steps.throw, error)
            except StopIteration:
                if clocks.get(instance_id) is begun:
                    del clocks[instance_id]
                    if context.next is not None:
                        clocks[instance_id] = name, context.next

    async def done(self, work: Callable[[AppProcess], Coroutine[Any, Any, Any]]) -> Any:
        """Return the result of work, which is done again in another process until one of them lives to its end."""
        while True:
            process = await self._alive()
            try:
                return await process.live(work(process))
            except (DiedError, EngineUnavailableError, StoreUnavailableError):
                await asyncio.sleep(AGAIN_SECONDS)

    async def _alive(self) -> AppProcess:
        """Return the first process that lives, once there is one."""
        while (process := self._cluster.alive) is None:  # noqa: ASYNC110 - a test begins one
            await asyncio.sleep(AGAIN_SECONDS)
        return process

    def now(self) -> datetime:
        """Return the time of the engine."""
        return datetime.fromtimestamp(self._cluster.wall(), UTC)

    def signal(self, key: str, operation: str, value: Any) -> None:
        """Send a signal to the entity of features."""
        self._cluster.engine.signals.append(Signal(ENTITY, key, operation, value))


class _Context:
    """The calls of an orchestration (`hosting.feature.OrchestrationContext`); its tasks are those of the loop."""

    def __init__(self, orchestrations: Orchestrations, given: Any) -> None:
        self._orchestrations, self._given = orchestrations, given
        self.next: Any = None

    @property
    def current_utc_datetime(self) -> datetime:
        return self._orchestrations.now()

    def get_input(self) -> Any:
        return self._given

    def create_timer(self, fire_at: datetime) -> Any:
        seconds = (fire_at - self._orchestrations.now()).total_seconds()
        return asyncio.ensure_future(asyncio.sleep(max(0.0, seconds)))

    def call_activity(self, name: str, input_: str) -> Any:
        return self._done(lambda process: process.declared(Activity)[name].run(input_, process.engine))

    def call_entity(self, key: str, operation: str, input_: Any) -> Any:
        signal = Signal(ENTITY, key, operation, input_)
        return self._done(lambda process: process.take(signal, is_signal=False))

    def signal_entity(self, key: str, operation: str, input_: Any) -> None:
        self._orchestrations.signal(key, operation, input_)

    def task_any(self, activities: list[Any]) -> Any:
        return asyncio.ensure_future(_first(activities))

    def is_over(self, task: Any) -> bool:
        return bool(task.done())

    def result_of(self, task: Any) -> Any:
        return task.exception() or task.result()

    def continue_as_new(self, input_: Any) -> None:
        self.next = input_

    def _done(self, work: Callable[[AppProcess], Coroutine[Any, Any, Any]]) -> Any:
        return asyncio.ensure_future(self._orchestrations.done(work))


async def _first(tasks: list[asyncio.Future[Any]]) -> asyncio.Future[Any]:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return next(task for task in tasks if task in done)
