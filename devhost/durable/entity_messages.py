"""The texts of an entity's request and response as an orchestration's history has them (host contract 3.9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from devhost.durable.answers import OperationResult
from devhost.durable.compact import compact
from devhost.durable.events import Event, EventSent
from devhost.durable.replay import SendOperation
from devhost.durable.timestamps import format_utc

_TYPE = "Microsoft.Azure.WebJobs.Extensions.DurableTask.{0}, Microsoft.Azure.WebJobs.Extensions.DurableTask"
_NOBODY_BEFORE = "0001-01-01T00:00:00"


def request_text(command: SendOperation, parent: tuple[str, str], sent_at: datetime, history: Sequence[Event]) -> str:
    """Return the RequestMessage; `parent` is the caller's instance and execution id.

    `Predecessor` is the time of the message before it to the same entity, as the history tells.
    """
    message: dict[str, object] = {"$type": _TYPE.format("RequestMessage"), "op": command.operation}
    if command.is_signal:
        message["signal"] = True
    message |= {"input": operation_input(command), "id": command.request_id}
    message |= {"parent": parent[0], "parentExecution": parent[1]}
    if command.due is not None:
        message["due"] = format_utc(command.due)
    message |= {"Timestamp": format_utc(sent_at), "Predecessor": _predecessor(command, history)}
    message["requestTime"] = format_utc(sent_at, zone="+00:00")
    return compact(message)


def operation_input(command: SendOperation) -> str:
    """Return the operation's input: JSON text of a JSON string of JSON text, which is what Python entities decode."""
    return compact(command.input)


def response_text(result: OperationResult) -> str:
    """Return the ResponseMessage; the SDK takes the mere presence of `exceptionType` for an error."""
    message: dict[str, object] = {"$type": _TYPE.format("ResponseMessage"), "result": result.result}
    if result.is_error:
        message["exceptionType"] = "Error"
    return compact(message)


def _predecessor(command: SendOperation, history: Sequence[Event]) -> str:
    target = str(command.entity_id)
    for event in reversed(history):
        if isinstance(event, EventSent) and event.instance_id == target:
            text: str = json.loads(event.input)["Timestamp"]
            return text
    return _NOBODY_BEFORE
