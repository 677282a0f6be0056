"""Orchestrators, activities and entities: each calls the app, and turns its answer into a step by the pure core."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from typing import TypeVar

from devhost.durable import wire
from devhost.durable.actions import MalformedActionError
from devhost.durable.answers import (
    EntityAnswer,
    OrchestratorAnswer,
    UnreadableAnswerError,
    parse_entity_answer,
    parse_orchestrator_answer,
    parse_orchestrator_failure,
    timeout_text,
)
from devhost.durable.clock import Clock
from devhost.durable.compact import recompact
from devhost.durable.crash import crash_points
from devhost.durable.ending import Episode, Turn
from devhost.durable.entities import TimedOut, apply_batch
from devhost.durable.events import Event, TaskCompleted, TaskFailed
from devhost.durable.intake import take_in
from devhost.durable.ledger import Ledger
from devhost.durable.missing import FunctionNames, is_missing, missing_function
from devhost.durable.records import (
    ActivityTask,
    Body,
    EntityId,
    EventMessage,
    History,
    Message,
    Operation,
    Outgoing,
    Step,
    Target,
    orchestration_target,
)
from devhost.durable.turn import Broken, close_episode, open_episode
from devhost.durable.work import Abandoned, Done, Held, Outcome
from devhost.ports import DurableFunctions, FunctionFailedError

logger = logging.getLogger(__name__)

_Body = TypeVar("_Body", bound=Body)


class Orchestrations:
    """Runs one episode with everything that waits for an instance."""

    def __init__(self, functions: DurableFunctions, names: FunctionNames, ledger: Ledger, clock: Clock) -> None:
        self._functions = functions
        self._names = names
        self._ledger = ledger
        self._clock = clock

    def take(self, waiting: Sequence[Message]) -> Sequence[Message]:
        return waiting

    async def process(self, target: Target, messages: Sequence[Message]) -> Outcome:
        known = await self._ledger.orchestration(target.id)
        consumed = _seqs(messages)
        intake = take_in(known.instance if known else None, _bodies(messages, EventMessage))
        if intake.orchestration is None or not intake.events:
            return Done(Step(consumed), intake.refusals)
        past = () if known is None or intake.is_new else known.history
        episode = open_episode(intake.orchestration, past, intake.events, self._clock.now())
        answer = await self._ask(episode)
        if isinstance(answer, Abandoned):
            return answer
        turn = close_episode(episode, answer, self._names, self._clock.now(), uuid.uuid4().hex)
        return _turn_done(turn, consumed, intake.refusals, past, is_new=intake.is_new)

    async def _ask(self, episode: Episode) -> OrchestratorAnswer | Broken | Abandoned:
        name = episode.orchestration.name
        if is_missing(self._names, "orchestrator", name):
            return Broken(missing_function(self._names, "orchestrator", name))
        crash_points.reached("before-orchestrator")
        try:
            text = await self._functions.call("orchestrator", name, wire.orchestrator_payload(episode))
            crash_points.reached("after-orchestrator")
            return parse_orchestrator_answer(text)
        except FunctionFailedError as failure:
            return _read_failure(failure)
        except (UnreadableAnswerError, MalformedActionError) as error:
            return Broken(str(error))


def _read_failure(failure: FunctionFailedError) -> OrchestratorAnswer | Broken | Abandoned:
    too_long = timeout_text(failure.message)
    if too_long is not None:
        return Abandoned(too_long)
    try:
        return parse_orchestrator_failure(failure.message) or Broken(failure.message)
    except (UnreadableAnswerError, MalformedActionError):
        return Broken(failure.message)


def _turn_done(
    turn: Turn, consumed: tuple[int, ...], refusals: tuple[Outgoing, ...], past: tuple[Event, ...], is_new: bool
) -> Done:
    is_fresh = is_new or turn.history.is_new
    step = Step(
        consumed=consumed,
        orchestration=turn.orchestration,
        history=History(turn.history.events, is_fresh),
        silenced=orchestration_target(turn.orchestration.instance_id) if turn.is_over else None,
    )
    return Done(step, (*refusals, *turn.outgoing), () if is_fresh else past)


class Activities:
    """Runs one activity. At least once: an activity that was cut off runs again after a restart."""

    def __init__(self, functions: DurableFunctions, names: FunctionNames, clock: Clock) -> None:
        self._functions = functions
        self._names = names
        self._clock = clock

    def take(self, waiting: Sequence[Message]) -> Sequence[Message]:
        return waiting[:1]

    async def process(self, target: Target, messages: Sequence[Message]) -> Outcome:
        (task,) = _bodies(messages, ActivityTask)
        event = await self._run(task)
        reply = Outgoing(orchestration_target(task.caller_id), EventMessage(event, task.caller_execution_id))
        return Done(Step(_seqs(messages)), (reply,))

    async def _run(self, task: ActivityTask) -> TaskCompleted | TaskFailed:
        if is_missing(self._names, "activity", task.name):
            return self._failed(task, f"Activity function '{task.name}' does not exist.", space="")
        crash_points.reached("before-activity")
        try:
            text = await self._functions.call("activity", task.name, task.input)
        except FunctionFailedError as failure:
            too_long = timeout_text(failure.message)
            return self._failed(task, too_long or failure.message, space="" if too_long else " ")
        crash_points.reached("after-activity")
        return TaskCompleted(timestamp=self._clock.now(), task_id=task.task_id, result=_result(text))

    def _failed(self, task: ActivityTask, error: str, space: str) -> TaskFailed:
        # The second space is the real host's: what it cuts out of the worker's text begins with one (3.8).
        reason = f"Activity function '{task.name}' failed: {space}{error}"
        return TaskFailed(timestamp=self._clock.now(), task_id=task.task_id, reason=reason, details=error)


def _result(text: str) -> str:
    try:
        return recompact(text)
    except ValueError:
        return text


class Entities:
    """Runs one batch of operations of one entity."""

    def __init__(
        self, functions: DurableFunctions, names: FunctionNames, ledger: Ledger, clock: Clock, batch_size: int
    ) -> None:
        self._functions = functions
        self._names = names
        self._ledger = ledger
        self._clock = clock
        self._batch_size = batch_size

    def take(self, waiting: Sequence[Message]) -> Sequence[Message]:
        return waiting[: self._batch_size]

    async def process(self, target: Target, messages: Sequence[Message]) -> Outcome:
        entity_id = EntityId.parse(target.id)
        if is_missing(self._names, "entity", entity_id.name):
            return Held(missing_function(self._names, "entity", entity_id.name))
        operations = _bodies(messages, Operation)
        entity = await self._ledger.entity(entity_id)
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
        return Done(Step(_seqs(messages), entity=batch.entity), batch.outgoing)


def _seqs(messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(message.seq for message in messages)


def _bodies(messages: Sequence[Message], kind: type[_Body]) -> list[_Body]:
    return [message.body for message in messages if isinstance(message.body, kind)]
