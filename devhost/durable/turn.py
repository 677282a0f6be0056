"""One episode of one orchestration: history, inbox and the app's answer in; events, messages and status out.

Theory of operation. An instance is its history, a list of events that only grows until the instance begins anew. An
episode takes every message that waits for the instance, appends the events they carry, shows the whole history to the
app's function, and lets `replay` say what of its answer is new. The new requests become scheduling events, which end
the episode's part of the history, and outgoing messages. The history of one episode reads

    OrchestratorStarted, [ExecutionStarted], events, scheduling events, [ExecutionCompleted], OrchestratorCompleted

(host contract B.2). What always holds:

- An event is received once: the step that appends it also consumes its message.
- A request is carried out once: its scheduling event confirms it in every later replay.
- An execution ends only when its code has ended and no activity, timer or sub-orchestration is open (3.7).
- A suspended instance receives events, and carries out nothing until it is resumed: it neither asks for anything nor
  ends, by a failure neither.
- A terminated instance ends, whatever its code would say.
- Results that belong to an execution which is over are dropped; external events are for whoever bears the id.

This module knows no clock, store, SDK or source of ids: times and new ids are given to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from devhost.durable import events
from devhost.durable.answers import OrchestratorAnswer
from devhost.durable.compact import compact
from devhost.durable.ending import Ending, Episode, Turn
from devhost.durable.missing import FunctionNames
from devhost.durable.records import Orchestration, Status
from devhost.durable.replay import Continued, NonDeterministicError, Raised, Replay, Returned

_CUSTOM_STATUS_BYTES = 16 * 1024


@dataclass(frozen=True)
class Broken:
    """The app's function failed without an answer; `message` is all there is to say."""

    message: str


def open_episode(
    orchestration: Orchestration, past: tuple[events.Event, ...], inbox: Sequence[events.Event], now: datetime
) -> Episode:
    """Return the episode that these events begin."""
    new = (events.OrchestratorStarted(timestamp=now), *inbox)
    if orchestration.is_continued:
        # The episode that continued as new had ended its part of the history already (host contract 3.7).
        new = (*new, events.OrchestratorCompleted(timestamp=now))
    return Episode(_fold_status(orchestration, inbox), past, new, now)


def close_episode(
    episode: Episode, answer: OrchestratorAnswer | Broken, names: FunctionNames, now: datetime, next_execution_id: str
) -> Turn:
    """Return what the episode changes; `next_execution_id` is taken if the orchestrator continues as new."""
    ending = Ending(episode, now)
    answer = _checked(answer)
    if isinstance(answer, OrchestratorAnswer):
        ending.take_custom_status(answer)
    if episode.is_suspended:
        # The answer to the whole history, failures included, comes again when the instance is resumed.
        return ending.wait()
    if isinstance(answer, Broken):
        return ending.fail(answer.message)
    replay = _replay(episode, answer, names)
    if isinstance(replay, str):
        return ending.fail_with(f"Non-Deterministic workflow detected: {replay}")
    ending.carry_out(replay)
    if replay.result is None or replay.has_open_work:
        return ending.wait()
    match replay.result:
        case Returned(output):
            return ending.finish(Status.COMPLETED, output, output)
        case Raised(error):
            return ending.fail(error)
        case Continued(given):
            return ending.continue_as_new(compact(given), next_execution_id, replay.carried)


def terminate_episode(episode: Episode, termination: events.ExecutionTerminated, now: datetime) -> Turn:
    """Return the end of a terminated instance, open work and all."""
    return Ending(episode, now).finish(Status.TERMINATED, compact(termination.input), termination.input)


def _checked(answer: OrchestratorAnswer | Broken) -> OrchestratorAnswer | Broken:
    if isinstance(answer, Broken):
        return answer
    if len((answer.custom_status or "").encode("utf-16-le")) > _CUSTOM_STATUS_BYTES:
        return Broken("The size of the JSON-serialized payload must not exceed 16 KB of UTF-16 text.")
    return answer


def _fold_status(orchestration: Orchestration, inbox: Sequence[events.Event]) -> Orchestration:
    """Return the instance as running, or as the last suspension or resumption leaves it."""
    if orchestration.status is Status.PENDING:
        orchestration = replace(orchestration, status=Status.RUNNING)
    for event in inbox:
        match event:
            case events.ExecutionSuspended():
                orchestration = replace(orchestration, status=Status.SUSPENDED, output=compact(event.reason))
            case events.ExecutionResumed():
                orchestration = replace(orchestration, status=Status.RUNNING, output=None)
    return orchestration


def _replay(episode: Episode, answer: OrchestratorAnswer, names: FunctionNames) -> Replay | str:
    instance = episode.orchestration
    parent_id = instance.parent.instance_id if instance.parent else None
    replay = Replay(instance.instance_id, instance.execution_id, parent_id, answer, names)
    try:
        for event in (*episode.past, *episode.new):
            replay.feed(event)
    except NonDeterministicError as error:
        return str(error)
    return replay
