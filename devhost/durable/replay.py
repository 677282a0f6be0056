"""The action interpreter: follows an orchestrator's actions over its history and says what is new.

The SDK answers with everything it ever asked for and names no ids. Both sides count: every activity, timer,
sub-orchestration and entity message takes the next number at the moment it is asked for, and history refers to it. So
the interpreter runs the whole list again from the start, feeds it the history, and gives out the numbers as the SDK
did. Requests that a scheduling event of the history confirms are old; the ones left over are new.

It knows no clock, no store and no SDK. The same history and answer give the same result.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from devhost.durable import answers, events
from devhost.durable.answers import OrchestratorAnswer
from devhost.durable.promises import Program, ProgramFailedError, Promise, all_of, any_of, follow, settled
from devhost.durable.records import EntityId
from devhost.durable.texts import compact
from devhost.ports import FunctionNames, is_missing, missing_function

_REQUEST_IDS = uuid.UUID("6f0a4c0e-9b51-5f0c-8c53-0f6d1a8f0a11")


class NonDeterministicError(Exception):
    """The history has an event that the orchestrator, run again, did not ask for."""


class RefusedActionError(Exception):
    """An action that cannot be carried out; its message becomes the instance's failure."""


@dataclass(frozen=True)
class ScheduleTask:
    id: int
    name: str
    input: str
    retry_of: int | None = None


@dataclass(frozen=True)
class SetTimer:
    id: int
    fire_at: datetime
    retry_of: int | None = None


@dataclass(frozen=True)
class CreateChild:
    """`input` is the child's, as it reads it."""

    id: int
    name: str
    input: str | None
    instance_id: str
    version: str | None = None
    retry_of: int | None = None


@dataclass(frozen=True)
class SendOperation:
    """`input` is the entity's, as it reads it: of a call over JSON, the text of a JSON string of JSON text."""

    id: int
    entity_id: EntityId
    request_id: str
    operation: str
    input: str | None
    is_signal: bool
    due: datetime | None


@dataclass(frozen=True)
class LockEntities:
    """A critical section: the locks of these entities, in this order."""

    id: int
    section_id: str
    entity_ids: tuple[EntityId, ...]


@dataclass(frozen=True)
class ReleaseEntity:
    """The end of a critical section, for one of its entities."""

    id: int
    section_id: str
    entity_id: EntityId


@dataclass(frozen=True)
class SendEvent:
    """An event for another orchestration; `input` is JSON text."""

    id: int
    instance_id: str
    name: str
    input: str | None


Command = ScheduleTask | SetTimer | CreateChild | SendOperation | LockEntities | ReleaseEntity | SendEvent


@dataclass(frozen=True)
class Returned:
    """The orchestrator's code ended; `output` is JSON text."""

    output: str | None


@dataclass(frozen=True)
class Raised:
    """The orchestrator's code failed."""

    error: str


@dataclass(frozen=True)
class Continued:
    """The orchestrator asked to begin anew with this input, JSON text."""

    input: str | None


Result = Returned | Raised | Continued


@dataclass(frozen=True)
class Decided:
    """What is new of an orchestrator's decisions: what it asks for, and its end, once nothing keeps it from ending.

    `next_id` is behind the last number that was given out, `carried` are events for the execution that follows.
    """

    commands: tuple[Command, ...]
    result: Result | None
    next_id: int
    carried: tuple[events.EventRaised, ...] = ()
    custom_status: str | None = None


class Replay:
    """One run of an answer's actions over a history, event by event."""

    def __init__(
        self,
        instance_id: str,
        execution_id: str,
        parent_id: str | None,
        answer: OrchestratorAnswer,
        names: FunctionNames,
    ) -> None:
        self.result: Result | None = None
        self.next_id = 0
        self.carried: list[events.EventRaised] = []
        self._instance_id = instance_id
        self._execution_id = execution_id
        self._parent_id = parent_id
        self._answer = answer
        self._names = names
        self._unconfirmed: dict[int, Command] = {}
        self._open: dict[int, Promise] = {}
        self._cancelled_timers: set[int] = set()
        self._waiting: dict[str, list[Promise]] = {}
        self._early_events: dict[str, int] = {}
        self._continue_input: str | None = None
        self._episode_start: datetime | None = None

    @property
    def decided(self) -> Decided:
        """What no event of the history confirms, in the order of the ids.

        The end waits for activities, timers and sub-orchestrations that are still to end.
        """
        has_open_work = not self._open.keys() <= self._cancelled_timers
        result = None if has_open_work else self.result
        return Decided(tuple(self._unconfirmed.values()), result, self.next_id, tuple(self.carried))

    def feed(self, event: events.Event) -> None:
        """Let one event happen; raises `NonDeterministicError` when it confirms what was not asked for."""
        match event:
            case events.OrchestratorStarted():
                self._episode_start = event.timestamp
            case events.ExecutionStarted():
                follow(self._run())
            case events.TaskScheduled() | events.TimerCreated() | events.ChildCreated() | events.EventSent():
                self._confirm(event)
            case events.Completed():
                self._settle(event.task_id, has_failed=False)
            case events.Failed():
                self._settle(event.task_id, has_failed=True)
            case events.TimerFired():
                self._settle(event.timer_id, has_failed=False)
            case events.EventRaised():
                self._raise_event(event)

    def _run(self) -> Program:
        try:
            for action in self._answer.actions:
                yield self._issue(action)
        except RefusedActionError as refusal:
            self.result = Raised(str(refusal))
            return
        self.result = self._end()

    def _end(self) -> Result | None:
        if self._answer.error is not None:
            return Raised(self._answer.error)
        if not self._answer.is_done:
            return None
        if self._continue_input is not None:
            return Continued(compact(self._continue_input))
        return Returned(self._answer.output)

    def _issue(self, action: answers.Action) -> Promise:
        match action:
            case answers.CallActivity():
                return self._call_activity(action)
            case answers.CallChild():
                return self._call_child(action)
            case answers.CallEntity():
                return self._call_entity(action)
            case answers.CallHttp(request):
                return self._ask(ScheduleTask(self._take_id(), answers.HTTP_ACTIVITY, request))
            case answers.CreateTimer():
                return self._create_timer(action)
            case answers.WaitForEvent(name):
                return self._wait_for(name)
            case answers.WhenAll(actions):
                return all_of([self._issue(child) for child in actions])
            case answers.WhenAny(actions):
                return any_of([self._issue(child) for child in actions])
            case answers.ContinueAsNew(given):
                self._continue_input = given
                # Waits from before are over with their execution; one asked for from here on must get its event.
                self._waiting.clear()
                return settled()

    def _take_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def _ask(self, command: Command) -> Promise:
        self._unconfirmed[command.id] = command
        promise = self._open[command.id] = Promise()
        return promise

    def _call_activity(self, action: answers.CallActivity) -> Promise:
        if is_missing(self._names, "activity", action.name):
            raise RefusedActionError(missing_function(self._names, "activity", action.name))

        def ask(first: int | None) -> Promise:
            return self._ask(ScheduleTask(self._take_id(), action.name, action.input, first))

        return self._attempt(ask, action.retry)

    def _call_child(self, action: answers.CallChild) -> Promise:
        self._check_child(action)

        def ask(first: int | None) -> Promise:
            number = self._take_id()
            instance_id = action.instance_id or f"{self._execution_id}:{number}"
            given = compact(action.input)
            return self._ask(CreateChild(number, action.name, given, instance_id, action.version, first))

        return self._attempt(ask, action.retry)

    def _check_child(self, action: answers.CallChild) -> None:
        if is_missing(self._names, "orchestrator", action.name):
            raise RefusedActionError(missing_function(self._names, "orchestrator", action.name))
        given = action.instance_id or ""
        if given.startswith("@") or given in (self._instance_id, self._parent_id):
            raise RefusedActionError(
                f"The sub-orchestration's instance id '{given}' begins with '@' or is the id of the caller or of its "
                "parent. Give it an id of its own."
            )

    def _attempt(self, ask: Callable[[int | None], Promise], retry: answers.RetryOptions | None) -> Promise:
        return ask(None) if retry is None else follow(self._retry(ask, retry))

    def _retry(self, ask: Callable[[int | None], Promise], retry: answers.RetryOptions) -> Program:
        first = self.next_id
        for attempt in range(retry.max_attempts):
            has_failed = yield ask(first if attempt else None)
            if not has_failed:
                return
            is_last = attempt + 1 == retry.max_attempts
            # The SDK learns of the last failure only from one more timer, which fires at once.
            yield self._set_timer(self._now() + (timedelta() if is_last else _interval(retry, attempt)), first)
        raise ProgramFailedError

    def _now(self) -> datetime:
        if self._episode_start is None:
            raise NonDeterministicError("the history does not begin with OrchestratorStarted")
        return self._episode_start

    def _set_timer(self, fire_at: datetime, retry_of: int | None = None) -> Promise:
        return self._ask(SetTimer(self._take_id(), fire_at, retry_of))

    def _create_timer(self, action: answers.CreateTimer) -> Promise:
        """Set a timer. A cancelled one is no open work, and that is all: it ends when it fires, as the SDK sees it.

        The real host ends it here, where the answer names it, and so before whatever the code cancelled it for: a race
        that an event won is over without the event, which continue-as-new then carries over, to be raced and carried
        again, without end.
        """
        promise = self._set_timer(action.fire_at)
        if action.is_canceled:
            self._cancelled_timers.add(self.next_id - 1)
        return promise

    def _wait_for(self, name: str) -> Promise:
        key = name.lower()
        if self._early_events.get(key):
            self._early_events[key] -= 1
            return settled()
        promise = Promise()
        self._waiting.setdefault(key, []).append(promise)
        return promise

    def _call_entity(self, action: answers.CallEntity) -> Promise:
        entity_id = _parse_entity_id(action.entity_id)
        if is_missing(self._names, "entity", entity_id.name):
            raise RefusedActionError(missing_function(self._names, "entity", entity_id.name))
        number = self._take_id()
        # Of the episode's time too, as on the real host: one that is made again waits for no answer to what it sent.
        request_id = str(uuid.uuid5(_REQUEST_IDS, f"{self._execution_id}:{number}:{self._now().isoformat()}"))
        self._unconfirmed[number] = SendOperation(
            number, entity_id, request_id, action.operation, compact(action.input), action.is_signal, action.due
        )
        return settled() if action.is_signal else self._wait_for(request_id)

    def _confirm(self, event: events.Event) -> None:
        command = self._unconfirmed.pop(event.event_id, None)
        if command is None or not _is_confirmed_by(command, event):
            raise NonDeterministicError(f"the history has {event}, but the orchestrator asked for {command}")
        match command, event:
            case SendOperation(request_id=derived), events.EventSent(input=text) if derived not in text:
                self._rename(derived, json.loads(text)["id"])

    def _rename(self, derived: str, sent: str) -> None:
        """Wait for the reply to what was sent: under another id than now, if a rewind has moved the request."""
        if waiting := self._waiting.pop(derived, None):
            self._waiting[sent] = waiting

    def _settle(self, number: int, has_failed: bool) -> None:
        promise = self._open.pop(number, None)
        if promise is not None:
            promise.settle(has_failed)

    def _raise_event(self, event: events.EventRaised) -> None:
        key = event.name.lower()
        waiting = self._waiting.get(key)
        if isinstance(self.result, Continued) or (self._continue_input is not None and not waiting):
            # Raised after continue-as-new was called: it is for the next execution.
            self.carried.append(event)
        elif waiting:
            # The latest waiter is served first, in host and SDK.
            waiting.pop().settle()
        else:
            self._early_events[key] = self._early_events.get(key, 0) + 1


def _parse_entity_id(text: str) -> EntityId:
    try:
        return EntityId.parse(text)
    except ValueError as error:
        raise RefusedActionError(str(error)) from error


def _interval(retry: answers.RetryOptions, attempt: int) -> timedelta:
    interval = retry.first_interval * retry.backoff**attempt
    return min(interval, retry.max_interval) if retry.max_interval else interval


def _is_confirmed_by(command: Command, event: events.Event) -> bool:
    match command, event:
        case ScheduleTask(name=asked), events.TaskScheduled(name=confirmed):
            return asked.lower() == confirmed.lower()
        case CreateChild(name=asked), events.ChildCreated(name=confirmed):
            return asked.lower() == confirmed.lower()
        case (SetTimer(), events.TimerCreated()) | (SendOperation(), events.EventSent()):
            return True
    return False
