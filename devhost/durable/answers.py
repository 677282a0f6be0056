"""What the app's functions answered, parsed at the border (host contract 3.5, 3.8, 3.15)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devhost.durable.actions import Action, parse_actions
from devhost.durable.compact import compact, parse_envelope, well_formed_json

_STATE_LABEL = "\n\n$OutOfProcData$:"
_HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
_TIMEOUT = re.compile(r"(?:\w+: )?(Timeout value of .*)", re.DOTALL)


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
    """A signal that an entity sends; `input` is handed on as it is."""

    entity_name: str
    entity_key: str
    operation: str
    input: str | None


@dataclass(frozen=True)
class EntityAnswer:
    """The state after a batch, an opaque text, and one result per operation."""

    exists: bool
    state: str | None
    results: tuple[OperationResult, ...]
    signals: tuple[EmittedSignal, ...] = ()


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
        raise UnreadableAnswerError(f"the function's answer is no JSON: {error}") from error
    if _HALF_ESCAPED.search(text):
        wire = well_formed_json(wire)
    if not isinstance(wire, dict):
        raise UnreadableAnswerError(f"the function's answer is {type(wire).__name__}, not a JSON object")
    return wire
