"""Orchestrations: calls the app's orchestrator for an episode, and turns its answer into a step by the pure core."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from devhost.durable import wire
from devhost.durable.actions import MalformedActionError
from devhost.durable.answers import (
    OrchestratorAnswer,
    UnreadableAnswerError,
    parse_orchestrator_answer,
    parse_orchestrator_failure,
    timeout_text,
)
from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.ending import Episode, Turn
from devhost.durable.events import Event, ExecutionStarted, ExecutionTerminated
from devhost.durable.intake import Intake, take_in
from devhost.durable.ledger import Ledger
from devhost.durable.missing import FunctionNames, is_missing, missing_function
from devhost.durable.records import (
    EventMessage,
    History,
    Inbox,
    Message,
    Orchestration,
    Read,
    Rewind,
    Status,
    Step,
    Superseded,
    Target,
    orchestration_target,
)
from devhost.durable.rewind import children_of, rewind
from devhost.durable.store.contract import StoredOrchestration
from devhost.durable.turn import Broken, close_episode, open_episode, terminate_episode
from devhost.durable.versions import refusal
from devhost.durable.work import Abandoned, Done, Held, Outcome, bodies, seqs
from devhost.ports import DurableFunctions, FunctionFailedError

# Random ids would do, but cost a system call for each episode, and this one is hardly ever taken.
_EXECUTION_IDS = uuid.UUID("0a6c8c64-3b57-5a0e-9f0f-6d1f8d3f0b52")


class Orchestrations:
    """Runs one episode with everything that waits for an instance."""

    most_messages = 1000

    def __init__(
        self, functions: DurableFunctions, names: FunctionNames, ledger: Ledger, clock: Clock, version: str | None
    ) -> None:
        self._functions = functions
        self._names = names
        self._ledger = ledger
        self._clock = clock
        self._version = version

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        taken = _up_to_a_rewind(inbox.messages)
        known = await self._ledger.with_history(inbox.record) if isinstance(inbox.record, Orchestration) else None
        basis = Step(seqs(taken), read=Read.of(target, known.instance if known else None))
        if rewinds := bodies(taken, Rewind):
            return await self._rewind(known, rewinds[0], basis)
        intake = take_in(known.instance if known else None, bodies(taken, EventMessage))
        if intake.orchestration is None or not intake.events:
            return Done(replace(basis, produced=intake.refusals))
        if (reason := self._refuse(intake.events)) is not None:
            return Held(reason)
        past = () if known is None or intake.is_new else known.history
        episode = open_episode(intake.orchestration, past, intake.events, self._clock.now())
        if episode.termination is not None:
            # The real host runs the code once more and ignores its answer (3.7). Code that is not run cannot hang or
            # time out in the way of its own end.
            turn = terminate_episode(episode, episode.termination, self._clock.now())
        else:
            answer = await self._ask(episode)
            if isinstance(answer, Abandoned):
                if not episode.is_suspended:
                    return answer
                # Tried again, it would time out again as long as the instance is suspended, and take in no event.
                answer = Broken(answer.reason)
            next_id = uuid.uuid5(_EXECUTION_IDS, intake.orchestration.execution_id).hex
            turn = close_episode(episode, answer, self._names, self._clock.now(), next_id)
        return _turn_done(turn, basis, intake, past)

    def _refuse(self, inbox: Sequence[Event]) -> str | None:
        """Return why an instance waits that these events start; one that they end as well need not."""
        if any(isinstance(event, ExecutionTerminated) for event in inbox):
            return None
        starts = (event for event in inbox if isinstance(event, ExecutionStarted) and event.parent is None)
        return next((refusal(start.version, self._version) for start in starts), None)

    async def _rewind(self, known: StoredOrchestration | None, asked: Rewind, basis: Step) -> Done:
        if known is None or known.instance.status is not Status.FAILED:
            return Done(basis)
        children = await self._ledger.statuses(children_of(known.history))
        turn = rewind(known.instance, known.history, asked.reason, self._clock.now(), children)
        return Done(replace(basis, orchestration=turn.orchestration, history=turn.history, produced=turn.outgoing))

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


def _up_to_a_rewind(messages: Sequence[Message]) -> Sequence[Message]:
    """Return everything, but for a rewind, which is a step of its own."""
    rewinds = [place for place, message in enumerate(messages) if isinstance(message.body, Rewind)]
    return messages[: max(rewinds[0], 1)] if rewinds else messages


def _turn_done(turn: Turn, basis: Step, intake: Intake, past: tuple[Event, ...]) -> Done:
    target = orchestration_target(turn.orchestration.instance_id)
    is_fresh = intake.is_new or turn.history.is_new
    # What an execution that continued as new still waited for has nobody to go to: its timers above all.
    earlier = intake.orchestration if turn.history.is_new else None
    step = replace(
        basis,
        orchestration=turn.orchestration,
        history=History(turn.history.events, is_fresh),
        silenced=target if turn.is_over else None,
        superseded=Superseded(target, earlier.execution_id) if earlier else None,
        produced=(*intake.refusals, *turn.outgoing),
    )
    return Done(step, () if is_fresh else past)
