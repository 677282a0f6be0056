"""Requests to write a thread's state, and to put messages in: parsed and checked before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.request.contents import Limits
from hosting.core.request.fields import read_members
from hosting.core.thread.run_request import UserMessage
from hosting.errors import InvalidFieldError, UnknownFieldError
from hosting.features.thread_state.routes import IF_MATCH, STATE_BODY
from hosting.http.run_call import JsonBody, RawRequest, read_idempotency_key
from hosting.http.verbs import MOST_PUT, NewMessages
from hosting.names import PUT_ROLES
from hosting.strict_json.parsing import json_type

MOST_PATCH_BYTES = 65_536
_MEMBERS = ("role", "message", "contents")
_BODY = JsonBody({"messages": {}}, ("messages",), '{"messages": [{"role": "user", "message": "..."}]}')


class StatePatch(Struct, frozen=True):
    """A JSON merge patch for the state; with `etags`, as If-Match names them, only for one that has one of them."""

    changes: dict[str, Any]
    etags: tuple[str, ...] | None = None


def parse_state_patch(call: RawRequest, most_bytes: int) -> StatePatch:
    """Return the patch of a request; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    changes = STATE_BODY.read(call, min(most_bytes, MOST_PATCH_BYTES)).get("state")
    if not isinstance(changes, dict):
        raise InvalidFieldError(f"The field 'state' is a JSON {json_type(changes)}. Send an object: a merge patch.")
    named = call.headers.get(IF_MATCH.name, "*").strip()
    return StatePatch(changes, None if named == "*" else tuple(tag.strip() for tag in named.split(",")))


def parse_messages(call: RawRequest, limits: Limits) -> NewMessages:
    """Return the messages of a request; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    items = _BODY.read(call, limits.body_bytes).get("messages")
    if not isinstance(items, list) or not 0 < len(items) <= MOST_PUT:
        sent = f"has {len(items)} messages" if isinstance(items, list) else f"is a JSON {json_type(items)}"
        raise InvalidFieldError(f"The field 'messages' {sent}. Send an array of 1 to {MOST_PUT} messages.")
    return NewMessages(read_messages(items, limits), read_idempotency_key(call.headers))


def read_messages(items: Sequence[object], limits: Limits) -> tuple[UserMessage, ...]:
    """Return messages of users and of the agent; raises `HostingError`s that name the number of the wrong one."""
    limits = replace(limits, roles=PUT_ROLES)
    return tuple(_read_message(number, item, limits) for number, item in enumerate(items))


def _read_message(number: int, item: object, limits: Limits) -> UserMessage:
    if not isinstance(item, dict):
        raise InvalidFieldError(f"The field 'messages[{number}]' is a JSON {json_type(item)}. Send an object.")
    if unknown := [name for name in item if name not in _MEMBERS]:
        known = ", ".join(_MEMBERS)
        raise UnknownFieldError(f"The field 'messages[{number}]' has {unknown[0][:80]!r}. Known fields: {known}.")
    return UserMessage(**read_members(item, limits))
