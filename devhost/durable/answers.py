"""What the app's functions answered, parsed at the border; one class and one row of a table per action (3.5, 3.15)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from devhost.durable.texts import compact, parse_envelope, parse_utc, well_formed_json

HTTP_ACTIVITY = "BuiltIn::HttpActivity"
_STATE_LABEL = "\n\n$OutOfProcData$:"
_HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
_TIMEOUT = re.compile(r"(?:\w+: )?(Timeout value of .*)", re.DOTALL)


class MalformedActionError(Exception):
    """The answer holds an action that the protocol does not have."""


@dataclass(frozen=True)
class RetryOptions:
    """When a failed attempt is made again; the interval is multiplied by `backoff` after each."""

    first_interval: timedelta
    max_attempts: int
    backoff: float = 1.0
    max_interval: timedelta | None = None


@dataclass(frozen=True)
class CallActivity:
    name: str
    input: str
    retry: RetryOptions | None = None


@dataclass(frozen=True)
class CallChild:
    name: str
    input: str
    instance_id: str | None
    retry: RetryOptions | None = None
    version: str | None = None


@dataclass(frozen=True)
class ContinueAsNew:
    input: str


@dataclass(frozen=True)
class CreateTimer:
    fire_at: datetime
    is_canceled: bool


@dataclass(frozen=True)
class WaitForEvent:
    name: str


@dataclass(frozen=True)
class CallEntity:
    """An entity call, or a signal when nobody waits; a signal may be `due` later."""

    entity_id: str
    operation: str
    input: str
    is_signal: bool
    due: datetime | None = None


@dataclass(frozen=True)
class CallHttp:
    """An HTTP request as JSON text (`activities`); the engine makes it as the activity `HTTP_ACTIVITY`."""

    request: str


@dataclass(frozen=True)
class WhenAll:
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class WhenAny:
    actions: tuple[Action, ...]


Action = (
    CallActivity | CallChild | ContinueAsNew | CreateTimer | WaitForEvent | CallEntity | CallHttp | WhenAll | WhenAny
)


def parse_actions(wire: Sequence[Mapping[str, Any]]) -> tuple[Action, ...]:
    """Return the actions in order; raises `MalformedActionError`, naming the first that is none."""
    return tuple(_parse_action(action) for action in wire)


def _parse_action(wire: Mapping[str, Any]) -> Action:
    try:
        return _PARSERS[wire["actionType"]](wire)
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedActionError(f"the action {str(wire)[:200]} cannot be read: {error!r}") from error


def _parse_activity(wire: Mapping[str, Any]) -> CallActivity:
    return CallActivity(wire["functionName"], wire["input"], _parse_retry(wire.get("retryOptions")))


def _parse_child(wire: Mapping[str, Any]) -> CallChild:
    retry = _parse_retry(wire.get("retryOptions"))
    return CallChild(wire["functionName"], wire["input"], wire.get("instanceId"), retry, wire.get("version"))


def _parse_entity_call(wire: Mapping[str, Any], is_signal: bool) -> CallEntity:
    due = parse_utc(wire["fireAt"]) if wire.get("fireAt") else None
    return CallEntity(wire["instanceId"], wire["operation"], wire["input"], is_signal, due)


def _parse_retry(wire: Mapping[str, Any] | None) -> RetryOptions | None:
    if wire is None:
        return None
    longest = wire.get("maxRetryIntervalInMilliseconds")
    return RetryOptions(
        first_interval=timedelta(milliseconds=wire["firstRetryIntervalInMilliseconds"]),
        max_attempts=wire["maxNumberOfAttempts"],
        backoff=wire.get("backoffCoefficient") or 1.0,
        max_interval=timedelta(milliseconds=longest) if longest else None,
    )


_PARSERS: Mapping[int, Callable[[Mapping[str, Any]], Action]] = {
    0: _parse_activity,
    1: _parse_activity,
    2: _parse_child,
    3: _parse_child,
    4: lambda wire: ContinueAsNew(wire["input"]),
    5: lambda wire: CreateTimer(parse_utc(wire["fireAt"]), bool(wire.get("isCanceled"))),
    6: lambda wire: WaitForEvent(wire["externalEventName"]),
    7: lambda wire: _parse_entity_call(wire, is_signal=False),
    8: lambda wire: CallHttp(compact(wire["httpRequest"])),
    9: lambda wire: _parse_entity_call(wire, is_signal=True),
    10: lambda wire: _parse_entity_call(wire, is_signal=True),
    11: lambda wire: WhenAny(parse_actions(wire["compoundActions"])),
    12: lambda wire: WhenAll(parse_actions(wire["compoundActions"])),
}


class UnreadableAnswerError(Exception):
    """The function answered something that is not the protocol; the message says what."""


@dataclass(frozen=True)
class OrchestratorAnswer:
    """All that an orchestrator decided so far. `error` is set when its code raised; texts are JSON but `error`."""

    actions: tuple[Action, ...]
    is_done: bool = False
    output: str | None = None
    custom_status: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class OperationResult:
    """One operation's result as JSON text, or its error's."""

    result: str | None
    is_error: bool


@dataclass(frozen=True)
class EmittedSignal:
    """A signal that an entity sends, to be delivered when it is `due`; `input` is handed on as it is."""

    entity_name: str
    entity_key: str
    operation: str
    input: str | None
    due: datetime | None = None


@dataclass(frozen=True)
class EmittedStart:
    """An orchestration that an entity starts, once it is `due`; `input` is JSON text."""

    name: str
    instance_id: str
    input: str | None
    version: str | None
    due: datetime | None = None


@dataclass(frozen=True)
class EntityAnswer:
    """The state after a batch, an opaque text, and one result per operation."""

    exists: bool
    state: str | None
    results: tuple[OperationResult, ...]
    signals: tuple[EmittedSignal, ...] = ()
    starts: tuple[EmittedStart, ...] = ()


def parse_orchestrator_answer(text: str) -> OrchestratorAnswer:
    """Return the parsed answer; raises `UnreadableAnswerError` or `MalformedActionError`."""
    wire = _parse_object(text)
    lists = wire.get("actions") or [[]]
    # Schema version 0 has a list per yield, the later ones a single list of everything.
    if wire.get("schemaVersion") and len(lists) != 1:
        raise UnreadableAnswerError(f"the orchestrator answered {len(lists)} action lists where one is due")
    return OrchestratorAnswer(
        actions=parse_actions([action for actions in lists for action in actions]),
        is_done=bool(wire.get("isDone")),
        output=compact(wire["output"]) if "output" in wire else None,
        custom_status=compact(wire["customStatus"]) if "customStatus" in wire else None,
        error=wire.get("error"),
    )


def parse_orchestrator_failure(message: str) -> OrchestratorAnswer | None:
    """Return the answer that a failed orchestrator carries behind its error text, or None when it carries none."""
    _, label, state = message.partition(_STATE_LABEL)
    return parse_orchestrator_answer(state) if label else None


def parse_entity_answer(text: str, operations: int) -> EntityAnswer:
    """Return the parsed answer to a batch of so many operations; raises `UnreadableAnswerError`."""
    wire = _parse_object(text, parse_envelope)
    results: Sequence[Mapping[str, Any]] = wire.get("results") or ()
    if len(results) != operations:
        raise UnreadableAnswerError(f"the entity answered {len(results)} results to {operations} operations")
    try:
        return EntityAnswer(
            exists=bool(wire["entityExists"]),
            state=wire.get("entityState"),
            results=tuple(OperationResult(result.get("result"), bool(result.get("isError"))) for result in results),
            signals=tuple(_parse_signal(signal) for signal in wire.get("signals") or ()),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableAnswerError(f"the entity's answer has the wrong shape: {error!r}") from error


def timeout_text(message: str) -> str | None:
    """Return the host's sentence about a function that ran too long, or None when the failure is another."""
    match = _TIMEOUT.match(message)
    return match[1] if match else None


def _parse_signal(wire: Mapping[str, Any]) -> EmittedSignal:
    target = wire["target"]
    return EmittedSignal(target["name"], target["key"], wire["name"], wire.get("input"))


def _parse_object(text: str, parse: Callable[[str], object] = json.loads) -> dict[str, Any]:
    try:
        wire = parse(text)
    except ValueError as error:
        raise UnreadableAnswerError(f"the function's answer is not JSON: {error}") from error
    if _HALF_ESCAPED.search(text):
        wire = well_formed_json(wire)
    if not isinstance(wire, dict):
        raise UnreadableAnswerError(f"the function's answer is {type(wire).__name__}, not a JSON object")
    return wire
