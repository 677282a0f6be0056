"""The entity `dafx-<agent>` on a worker of the SDK: one operation at a time, in one of the worker's threads.

The SDK never delivers an operation again that raised, so one that cannot be begun because the run log or the archive is
away waits here until it is back, or until the worker stops: the engine then delivers it to another.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from contextlib import suppress
from itertools import chain, repeat

from durabletask.entities import EntityContext
from durabletask.worker import TaskHubGrpcWorker

from hosting.agent.loop import AgentLoop
from hosting.calling.orchestrations import ENGINE, Engine
from hosting.console.plain_json import PlainJson
from hosting.entity.entity import AgentEntity
from hosting.entity.entity_batch import Batch, Done, Operation, Refused, decoded
from hosting.errors import ArchiveUnavailableError, LogUnavailableError
from hosting.names import entity_name
from hosting.ports import OrchestrationClient

logger = logging.getLogger(__name__)

PAUSES_SECONDS = (0.1, 0.5, 2.0, 5.0)
LONGEST_PAUSE_SECONDS = 15.0


class RefusedOperationError(Exception):
    """The entity did not take the operation, for the reason that is the message."""


class ServedEntity:
    """One agent's entity, answering the worker's threads on the agents' loop."""

    def __init__(
        self,
        entity: AgentEntity,
        loop: AgentLoop,
        stopping: threading.Event,
        orchestrations: OrchestrationClient | None = None,
    ) -> None:
        """`orchestrations` is what tools reach them through, None where they reach none."""
        self._orchestrations = orchestrations
        self._entity = entity
        self._loop = loop
        self._stopping = stopping

    def operate(self, context: EntityContext, given: PlainJson) -> object:
        """Return the operation's result and set the state; raises `RefusedOperationError`."""
        state, result = self._answered(_batch(context, given))
        if isinstance(result, Refused):
            raise RefusedOperationError(result.reason)
        context.set_state(None if state is None else PlainJson(json.loads(state)))
        return result.value

    def _answered(self, batch: Batch) -> tuple[str | None, Done | Refused]:
        for pause in chain(PAUSES_SECONDS, repeat(LONGEST_PAUSE_SECONDS)):
            with suppress(LogUnavailableError, ArchiveUnavailableError):
                return self._answered_once(batch)
            logger.warning("A store cannot be reached for thread %s; trying again in %g s.", batch.key, pause)
            if self._stopping.wait(pause):
                break
        return self._answered_once(batch)

    def _answered_once(self, batch: Batch) -> tuple[str | None, Done | Refused]:
        state, results = self._loop.result_of(self._answer(batch))
        return state, results[0]

    async def _answer(self, batch: Batch) -> tuple[str | None, list[Done | Refused]]:
        if self._orchestrations is not None:
            ENGINE.set(Engine(self._orchestrations, asyncio.get_running_loop()))
        return await self._entity.answer(batch)


def register_entity(worker: TaskHubGrpcWorker, agent: str, entity: ServedEntity) -> None:
    """Register the entity of one agent."""

    def operate(context: EntityContext, given: PlainJson) -> object:
        return entity.operate(context, given)

    worker.add_entity(operate, name=entity_name(agent))


def _batch(context: EntityContext, given: PlainJson | None) -> Batch:
    """Return the operation as a batch of its own; only a call for a run has a result that somebody reads."""
    stored = context.get_state(PlainJson)
    value = decoded(None if given is None else given.value)
    is_signal = isinstance(value, dict) and bool(value.get("logged"))
    text = None if stored is None else json.dumps(stored.value, ensure_ascii=False, separators=(",", ":"))
    return Batch(context.entity_id.key, text, (Operation(context.operation, value, is_signal),))
