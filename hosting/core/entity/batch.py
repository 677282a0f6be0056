"""The entity batch protocol of Durable Functions, as texts and values.

Inputs travel as JSON text inside JSON text and are read as plain JSON, so that no caller's dict reaches the SDK's
object constructor. Reading never raises on a caller's input: an operation with unreadable input has the value
`UNREADABLE`.

The envelope carries the whole state as one string, twice a turn; msgspec reads and writes it three times faster than
`json` does, which is what a long thread's turn costs here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from hosting.core.hooks import Signal
from hosting.names import new_id
from hosting.ports import EntityEnd

UNREADABLE: Final = object()
_MOST_ENCODINGS = 3


class Operation(Struct, frozen=True):
    """One message to the entity. Its `id` is the same at each delivery, where the engine has one."""

    name: str
    value: Any
    is_signal: bool
    id: str = field(default_factory=new_id)


class Batch(Struct, frozen=True):
    """The operations that the host hands to the entity at once. `state` is the stored text, None if there is none."""

    key: str
    state: str | None
    operations: tuple[Operation, ...]


class Done(Struct, frozen=True):
    """The operation's result, any JSON value, and the signals that it sends."""

    value: Any = None
    signals: tuple[Signal, ...] = ()


class RefusedOperation(Struct, frozen=True):
    """The operation's error, a sentence for the caller."""

    reason: str


def parse_batch(payload: str) -> Batch:
    """Return the batch that the trigger's text holds; a broken envelope (the host's own) raises `ValueError`."""
    envelope = msgspec.json.decode(payload)
    state = envelope.get("state") if envelope.get("exists") else None
    if state == "null":
        state = None
    elif state is not None and not isinstance(state, str):
        state = json.dumps(state)
    return Batch(
        key=envelope["self"]["key"],
        state=state,
        operations=tuple(
            Operation(
                str(item.get("name") or ""),
                decoded(item.get("input")),
                bool(item.get("isSignal")),
                str(item.get("id") or new_id()).replace("-", ""),
            )
            for item in envelope["batch"]
        ),
    )


def decoded(text: Any) -> Any:
    """Return the value of an input that was made JSON text once or more; `UNREADABLE` for an invalid one."""
    value = text
    for _ in range(_MOST_ENCODINGS):
        if not isinstance(value, str):
            return value
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return UNREADABLE
    return value


def write_answer(
    state: str | None, results: Sequence[Done | RefusedOperation], started_at: float, end: EntityEnd | None = None
) -> str:
    """Return the answer text: the state as it is to be stored, and a result per operation in the batch's order.

    Of an entity without a state the engine keeps the text too: the `end` of an ended thread.
    """
    start = int(started_at * 1000)
    answer = {
        "entityExists": state is not None,
        "entityState": state if state is not None else "null" if end is None else end.text,
        "results": [_result(result, start) for result in results],
        "signals": [_signal(signal) for result in results if isinstance(result, Done) for signal in result.signals],
    }
    return msgspec.json.encode(answer).decode()


def _signal(signal: Signal) -> dict[str, Any]:
    """The input is JSON text of a JSON string, as the SDK's client sends it; the host hands it on as it is."""
    target = {"name": signal.entity, "key": signal.key}
    return {"target": target, "name": signal.operation, "input": json.dumps(json.dumps(signal.value))}


def _result(result: Done | RefusedOperation, start: int) -> dict[str, Any]:
    refused = isinstance(result, RefusedOperation)
    value = result.reason if isinstance(result, RefusedOperation) else result.value
    return {"isError": refused, "duration": 0, "startTime": start, "result": json.dumps(value, ensure_ascii=False)}
