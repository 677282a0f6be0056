"""A request to fork a thread: the end of the fork, and its id."""

from __future__ import annotations

from collections.abc import Mapping

from hosting.core.request.fields import read_flag, read_text
from hosting.core.request.strict_json import Schema, json_type
from hosting.core.thread.sources import ForkCall, ForkPoint
from hosting.errors import InvalidFieldError
from hosting.http.run_call import JsonBody, RawRequest, read_idempotency_key
from hosting.names import check_thread_id, id_pattern, is_id

_MOST_POSITION = 2**53 - 1
_AT: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": _MOST_POSITION},
        {"type": "string", "pattern": f"^{id_pattern()}$"},
        {"type": "null"},
    ],
    "description": "The last entry of the fork: its position, or the id of its run. Default: the end of the thread.",
}
_BEFORE: Schema = {
    "anyOf": [{"type": "boolean"}, {"type": "null"}],
    "description": "true: the fork ends before that entry, or before that run.",
}
_THREAD_ID: Schema = {
    "anyOf": [{"type": "string", "pattern": f"^{id_pattern()}$"}, {"type": "null"}],
    "description": "The id of the fork. Default: a new id.",
}
_FIELDS: Mapping[str, Schema] = {"thread_id": _THREAD_ID, "at": _AT, "before": _BEFORE}
_BEFORE_WHAT: Schema = {
    "if": {"properties": {"before": {"const": True}}, "required": ["before"]},
    "then": {"properties": {"at": {"type": ["integer", "string"]}}, "required": ["at"]},
}
"""Not by `oneOf`: of that, generated clients would make several types."""
FORK = JsonBody(_FIELDS, (), '{"at": 7, "before": true}', together=_BEFORE_WHAT)


def parse_fork(call: RawRequest, agent: str, owner: str, most_bytes: int) -> ForkCall:
    """Return the fork that a request wants; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    fields = FORK.read(call, most_bytes)
    at, named = fields.get("at"), fields.get("thread_id")
    if isinstance(at, float) and at.is_integer():  # to JSON 7.0 is the integer 7
        at = int(at)
    before = fields.get("before") is not None and read_flag("before", fields["before"])
    if at is None and before:
        raise InvalidFieldError("The field 'before' needs 'at'. Send an entry's position or a run's id in 'at'.")
    if at is not None and not isinstance(at, str) and not (type(at) is int and 0 < at <= _MOST_POSITION):
        raise InvalidFieldError(f"The field 'at' is {_shown(at)}. Send an entry's position, from 1, or a run's id.")
    if isinstance(at, str) and not is_id(at):
        raise InvalidFieldError(f"The field 'at' is {at[:80]!r}, which is not a run id. Send a run id, or a position.")
    thread_id = None if named is None else check_thread_id(read_text("thread_id", named), agent, owner)
    return ForkCall(ForkPoint(at, before), thread_id, read_idempotency_key(call.headers))


def _shown(value: object) -> str:
    return str(value)[:80] if isinstance(value, int | float) else f"a JSON {json_type(value)}"
