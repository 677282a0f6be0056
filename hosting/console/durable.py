"""An agent's entity on the Durable Task SDK's worker, and agents inside orchestrations.

The SDK runs one operation of an entity at a time, in a thread of the
worker, and never delivers an operation again that raised. So an operation that cannot be done now, because a store is
away, its document is an older one or another process is at it, waits here until it can, or until the worker stops: the
engine then delivers it to another.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any

from durabletask.entities import EntityContext, EntityInstanceId
from durabletask.task import OrchestrationContext
from msgspec import Struct

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.entity.batch import Batch, Done, Operation, RefusedOperation, decoded
from hosting.core.entity.called_run import AgentCall
from hosting.core.entity.thread_entity import ThreadEntity, UnfinishedError
from hosting.core.thread_operations import OutdatedDocumentError
from hosting.errors import NewerVersionError, StoreUnavailableError
from hosting.orchestrations import ENGINE, Engine
from hosting.task_hub import AgentTask, PlainJson, TaskHubClient

logger = logging.getLogger(__name__)

PAUSES_SECONDS = (0.1, 0.5, 2.0, 5.0)
LONGEST_PAUSE_SECONDS = 15.0
_AGAIN = (StoreUnavailableError, NewerVersionError, OutdatedDocumentError, UnfinishedError)
"""Causes for which an entity asks to be called again."""


class RefusedOperationError(Exception):
    """The entity did not take the operation, for the reason that is the message."""


class ServedEntity(Struct, frozen=True):
    """One agent's entity, which serves the worker's threads on the agents' loop.

    `engine` is how tools reach orchestrations, None where they reach none.
    """

    entity: ThreadEntity
    loop: AgentLoop
    stopping: threading.Event
    engine: TaskHubClient | None = None

    def operate(self, context: EntityContext, argument: PlainJson) -> object:
        """Return the operation's result and set the state; raises `RefusedOperationError`."""
        stored, value = context.get_state(PlainJson), decoded(None if argument is None else argument.value)
        text = None if stored is None else json.dumps(stored.value, ensure_ascii=False, separators=(",", ":"))
        is_signal = isinstance(value, dict) and bool(value.get("logged"))  # only a call for a run has a result to read
        state, result = self._result(
            Batch(context.entity_id.key, text, (Operation(context.operation, value, is_signal),))
        )
        if isinstance(result, RefusedOperation):
            raise RefusedOperationError(result.reason)
        context.set_state(None if state is None else PlainJson(json.loads(state)))
        for signal in result.signals:
            entity = EntityInstanceId(signal.entity, signal.key)
            context.signal_entity(entity, signal.operation, PlainJson(signal.value))
        return result.value

    def _result(self, batch: Batch) -> tuple[str | None, Done | RefusedOperation]:
        for pause in chain(PAUSES_SECONDS, repeat(LONGEST_PAUSE_SECONDS)):
            try:
                return self.loop.result_of(self._operated(batch))
            except _AGAIN as error:
                logger.warning("Thread %s waits: %s Trying again in %g s.", batch.key, error, pause)
            if self.stopping.wait(pause):
                break
        return self.loop.result_of(self._operated(batch))

    async def _operated(self, batch: Batch) -> tuple[str | None, Done | RefusedOperation]:
        if self.engine is not None:
            ENGINE.set(Engine(self.engine, asyncio.get_running_loop()))
        answer = await self.entity.answer(batch)
        return answer.state, answer.results[0]


class CallingOrchestration:
    """A running orchestration, for the proxies in it; their tasks stand alone, in when_all and in when_any."""

    def __init__(self, context: OrchestrationContext) -> None:
        self._context = context

    @property
    def orchestration_id(self) -> str:
        """The orchestration's id."""
        return self._context.instance_id

    def new_id(self) -> str:
        """Return the next id; the SDK makes it of instance, time and a counter, so a replay makes the same one.

        An episode that is made again at another time has other ids, and sent nothing the first time: the worker hands
        its messages to the engine together with its history.
        """
        return str(self._context.new_uuid()).replace("-", "")

    def call(self, call: AgentCall, fields: Mapping[str, Any]) -> AgentTask:
        """Return the task that calls the agent's entity."""
        entity = EntityInstanceId(*call.address.entity)
        return AgentTask(call, self._context.call_entity(entity, "run", dict(fields)))
