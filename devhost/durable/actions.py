"""What an orchestrator asks for, parsed from its answer: one class per action, one table (host contract 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from devhost.durable.compact import compact
from devhost.durable.timestamps import parse_utc

HTTP_ACTIVITY = "BuiltIn::HttpActivity"


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
    """An HTTP request as JSON text (`httpactivity`); the engine makes it as the activity `HTTP_ACTIVITY`."""

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
