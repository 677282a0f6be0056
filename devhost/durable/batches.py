"""Entities: calls the app's entity for a batch of operations, and turns its answer into a step by the pure core."""

from __future__ import annotations

import logging

from devhost.durable import wire
from devhost.durable.answers import EntityAnswer, UnreadableAnswerError, parse_entity_answer, timeout_text
from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.entities import TimedOut, apply_batch
from devhost.durable.missing import FunctionNames, is_missing, missing_function
from devhost.durable.records import Entity, EntityId, Inbox, Operation, Read, Step, Target
from devhost.durable.work import Abandoned, Done, Held, Outcome, bodies, seqs
from devhost.ports import DurableFunctions, FunctionFailedError

logger = logging.getLogger(__name__)


class Entities:
    """Runs one batch of operations of one entity."""

    def __init__(self, functions: DurableFunctions, names: FunctionNames, clock: Clock, batch_size: int) -> None:
        self.most_messages = batch_size
        self._functions = functions
        self._names = names
        self._clock = clock

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        entity_id = EntityId.parse(target.id)
        if is_missing(self._names, "entity", entity_id.name):
            return Held(missing_function(self._names, "entity", entity_id.name))
        operations = bodies(inbox.messages, Operation)
        entity = inbox.record if isinstance(inbox.record, Entity) else None
        crash_points.reached("before-entity")
        answer: EntityAnswer | TimedOut
        try:
            text = await self._functions.call(
                "entity", entity_id.name, wire.entity_payload(entity_id, entity, operations)
            )
            answer = parse_entity_answer(text, len(operations))
        except FunctionFailedError as failure:
            too_long = timeout_text(failure.message)
            if too_long is None:
                return Abandoned(failure.message)
            answer = TimedOut(too_long)
        except UnreadableAnswerError as error:
            return Abandoned(str(error))
        crash_points.reached("after-entity")
        batch = apply_batch(entity_id, operations, answer, self._names, self._clock.now())
        for signal in batch.undeliverable:
            logger.error("%s: %s", entity_id, missing_function(self._names, "entity", signal.entity_name))
        step = Step(seqs(inbox.messages), entity=batch.entity, produced=batch.outgoing, read=Read.of(target, entity))
        return Done(step)
