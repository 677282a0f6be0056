"""JSON-RPC messages as the MCP extension reads and writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
TRANSPORT_ERROR = -32000
MessageId = str | int
MOST_LEVELS = 64
"""How deep .NET's JSON reader goes; also far from what Python's can take."""


class UnreadableError(Exception):
    """The body is no message that the extension can read; it answers an empty 500."""


class EmptyMessageError(Exception):
    """The body is the JSON value `null`, which the extension refuses with a message of its own."""


class TooDeepError(Exception):
    """The body is nested deeper than the extension reads."""


class CallError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Call:
    """A request that wants an answer. `params` is None when the message has no object of them."""

    id: MessageId
    method: str
    params: Mapping[str, object] | None


@dataclass(frozen=True)
class Notice:
    """A notification, or a client's answer to a request that the stateless server never sent."""


def parse_message(body: bytes) -> Call | Notice:
    """Return the message in the body; raise one of the errors above for anything else."""
    try:
        message: object = json.loads(body)
    except RecursionError as error:
        raise TooDeepError from error
    except ValueError as error:
        raise UnreadableError from error
    if message is None:
        raise EmptyMessageError
    if _is_deeper_than(MOST_LEVELS, message):
        raise TooDeepError
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise UnreadableError
    message_id, method, params = message.get("id"), message.get("method"), message.get("params")
    if "id" not in message and isinstance(method, str):
        return Notice()
    if not isinstance(message_id, (str, int)) or isinstance(message_id, bool):
        raise UnreadableError
    if "method" not in message and ("result" in message or "error" in message):
        return Notice()
    if not isinstance(method, str):
        raise UnreadableError
    return Call(message_id, method, params if isinstance(params, dict) else None)


def _is_deeper_than(levels: int, value: object) -> bool:
    level = [value]
    for _ in range(levels):
        level = [inner for item in level for inner in _inner(item)]
        if not level:
            return False
    return any(isinstance(item, (dict, list)) for item in level)


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def result_message(message_id: MessageId, result: object) -> bytes:
    """Return the answer to a call, its keys in the extension's order."""
    return _encode({"result": result, "id": message_id, "jsonrpc": "2.0"})


def error_message(message_id: MessageId, code: int, message: str) -> bytes:
    """Return the error answer to a call; the id is empty when the refusal came before the message was read."""
    return _encode({"error": {"code": code, "message": message}, "id": message_id, "jsonrpc": "2.0"})


def _encode(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()
