"""Orchestrations: calls the app's orchestrator for an episode, and turns its outcome into a step."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from devhost.durable.answers import (
    MalformedActionError,
    OrchestratorAnswer,
    UnreadableAnswerError,
    parse_orchestrator_failure,
    timeout_text,
)
from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.episode import (
    Broken,
    Episode,
    EpisodeOutcome,
    close_episode,
    open_episode,
    terminate_episode,
)
from devhost.durable.events import (
    ChildCreated,
    Completed,
    Event,
    ExecutionStarted,
    ExecutionTerminated,
    Failed,
    TaskScheduled,
    TimerCreated,
    TimerFired,
)
from devhost.durable.intake import Intake, take_in
from devhost.durable.ledger import Ledger
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
from devhost.durable.replay import Decided
from devhost.durable.rewind import children_of, rewind
from devhost.durable.store.contract import StoredOrchestration
from devhost.durable.unkind import Unkind
from devhost.durable.wire import Protocol
from devhost.durable.worker import Abandoned, Done, Held, Hides, Outcome, Waits, bodies, seqs
from devhost.ports import DurableFunctions, FunctionFailedError, FunctionNames, is_missing, missing_function

_EARLY_SECONDS = 2.0  # the real host's first pause before it looks again for what a result is about
# Random ids would do, but cost a system call for each episode, and this one is hardly ever taken.
_EXECUTION_IDS = uuid.UUID("0a6c8c64-3b57-5a0e-9f0f-6d1f8d3f0b52")


class Orchestrations:
    """Runs one episode with everything that waits for an instance."""

    most_messages = 1000

    def __init__(
        self,
        functions: DurableFunctions,
        names: FunctionNames,
        ledger: Ledger,
        clock: Clock,
        version: str | None,
        *,
        protocol: Protocol,
        unkind: Unkind,
    ) -> None:
        self._unkind = unkind
        self._protocol = protocol
        self._functions = functions
        self._names = names
        self._ledger = ledger
        self._clock = clock
        self._version = version

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        taken = _up_to_a_rewind(inbox.messages)
        known = await self._ledger.with_history(inbox.record) if isinstance(inbox.record, Orchestration) else None
        if known is not None and not self._unkind.is_kind:
            in_time = [message for message in taken if _is_in_time(message, known, taken)]
            if not in_time:
                return Hides(tuple(taken), self._unkind.lasts(_EARLY_SECONDS))
            taken = in_time
        basis = Step(seqs(taken), read=Read.of(target, known.instance if known else None))
        if rewinds := bodies(taken, Rewind):
            return await self._rewind(known, rewinds[0], basis)
        intake = take_in(known.instance if known else None, bodies(taken, EventMessage))
        if intake.orchestration is None or not intake.events:
            return Done(replace(basis, produced=intake.refusals))
        if (reason := self._refuse(intake.events)) is not None:
            return Held(reason)
        past = () if known is None or intake.is_new else known.history
        if not past and not any(isinstance(event, ExecutionStarted | ExecutionTerminated) for event in intake.events):
            return Waits()  # for its start, which is due later
        episode = open_episode(intake.orchestration, past, intake.events, self._clock.now())
        if episode.termination is not None:
            # The real host runs the code once more and ignores its answer (3.7). Code that is not run cannot hang or
            # time out in the way of its own end.
            outcome = terminate_episode(episode, episode.termination, self._clock.now())
        else:
            answer = await self._ask(episode)
            if isinstance(answer, Abandoned):
                if not episode.is_suspended:
                    return answer
                # Tried again, it would time out again as long as the instance is suspended, and take in no event.
                answer = Broken(answer.reason)
            # Of its time: what an episode sends that is not written is not taken for what it sends when made again.
            named = f"{intake.orchestration.execution_id}:{episode.started_at.isoformat()}"
            next_id = uuid.uuid5(_EXECUTION_IDS, named).hex
            outcome = close_episode(episode, answer, self._names, self._clock.now(), next_id)
        return _done(outcome, basis, intake, past)

    def _refuse(self, inbox: Sequence[Event]) -> str | None:
        """Return why an instance waits that these events start; one that they end as well need not."""
        if not self._protocol.holds_versions or any(isinstance(event, ExecutionTerminated) for event in inbox):
            return None
        starts = (event for event in inbox if isinstance(event, ExecutionStarted) and event.parent is None)
        return next((refusal(start.version, self._version) for start in starts), None)

    async def _rewind(self, known: StoredOrchestration | None, asked: Rewind, basis: Step) -> Done:
        if known is None or known.instance.status is not Status.FAILED:
            return Done(basis)
        children = await self._ledger.statuses(children_of(known.history))
        outcome = rewind(known.instance, known.history, asked.reason, self._clock.now(), children)
        return Done(
            replace(basis, orchestration=outcome.orchestration, history=outcome.history, produced=outcome.outgoing)
        )

    async def _ask(self, episode: Episode) -> OrchestratorAnswer | Decided | Broken | Abandoned:
        name = episode.orchestration.name
        if is_missing(self._names, "orchestrator", name):
            return Broken(missing_function(self._names, "orchestrator", name))
        crash_points.reached("before-orchestrator")
        try:
            text = await self._functions.call(
                "orchestrator", name, self._protocol.write_episode(episode.orchestration, episode.past, episode.new)
            )
            crash_points.reached("after-orchestrator")
            return self._protocol.read_decisions(text)
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


def _is_in_time(message: Message, known: StoredOrchestration, beside: Sequence[Message]) -> bool:
    """Return whether the history has what the message is about; what an unwritten episode asked for is not in it.

    The real host waits for it likewise.
    """
    event = message.body.event if isinstance(message.body, EventMessage) else None
    past = known.history
    match event:
        case None | ExecutionStarted():
            return True
        case Completed(task_id=number) | Failed(task_id=number):
            return any(isinstance(asked, TaskScheduled | ChildCreated) and asked.event_id == number for asked in past)
        case TimerFired(timer_id=number):
            return any(isinstance(asked, TimerCreated) and asked.event_id == number for asked in past)
        case _:
            starts = [body.event for body in bodies(beside, EventMessage) if isinstance(body.event, ExecutionStarted)]
            return bool(past) or any(start.execution_id == known.instance.execution_id for start in starts)


def _up_to_a_rewind(messages: Sequence[Message]) -> Sequence[Message]:
    """Return everything, but for a rewind, which is a step of its own."""
    rewinds = [place for place, message in enumerate(messages) if isinstance(message.body, Rewind)]
    return messages[: max(rewinds[0], 1)] if rewinds else messages


def _done(outcome: EpisodeOutcome, basis: Step, intake: Intake, past: tuple[Event, ...]) -> Done:
    target = orchestration_target(outcome.orchestration.instance_id)
    is_fresh = intake.is_new or outcome.history.is_new
    # What an execution that continued as new still waited for has nobody to go to: its timers above all.
    earlier = intake.orchestration if outcome.history.is_new else None
    step = replace(
        basis,
        orchestration=outcome.orchestration,
        history=History(outcome.history.events, is_fresh),
        silenced=target if outcome.is_over else None,
        superseded=Superseded(target, earlier.execution_id) if earlier else None,
        produced=(*intake.refusals, *outcome.outgoing),
    )
    return Done(step, () if is_fresh else past)


def refusal(wanted: str | None, current: str | None) -> str | None:
    """Return why an instance of the wanted version waits, or None when it runs here.

    The real host says nothing and leaves it Pending.
    """
    if wanted is None or (current is not None and _parts(wanted) <= _parts(current)):
        return None
    have = f"is {current}" if current else "is not set"
    return (
        f"it was started with version {wanted}, and extensions.durableTask.defaultVersion of host.json {have}. "
        "Set it to that version or a newer one and start the host again, or terminate the instance."
    )


def _parts(version: str) -> list[tuple[int, str]]:
    """Return the parts between the dots, numbers by their value and before words."""
    return [(int(part), "") if part.isdecimal() else (1 << 62, part.lower()) for part in version.split(".")]
