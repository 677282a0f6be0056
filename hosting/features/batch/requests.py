"""A request for a batch: what it wants of all its runs, and its requests, each as one of a run by itself.

The body's form is refused as a whole: JSON that is no object of the known members, or no list of 1 to 100 objects.
What is wrong within one of the objects refuses that one alone, when it is begun.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hosting.core.request.fields import read_flag
from hosting.errors import InvalidFieldError, UnsupportedMediaTypeError
from hosting.features.batch.routes import ITEM_KEY, MOST_REQUESTS, REQUESTS
from hosting.http.answer_form import answer_form
from hosting.http.run_call import (
    IDEMPOTENCY_KEY,
    STREAM,
    THREAD_ID_FIELDS,
    WAIT_FIELDS,
    RawRequest,
    Wanted,
    body_form,
    json_fields,
    read_idempotency_key,
    read_wanted,
)
from hosting.strict_json.parsing import json_type

_MEMBERS = frozenset({REQUESTS, STREAM, *WAIT_FIELDS})
_OF_THE_BATCH = (STREAM, *WAIT_FIELDS)
_EXAMPLE = '{"requests": [{"message": "Hello"}]}'


class Item(Struct, frozen=True):
    """A request of a batch: its place in it, its members, and the key that the batch gives it."""

    index: int
    fields: Mapping[str, Any]
    batch_key: str | None

    @property
    def line(self) -> str | None:
        """What it has in common with requests that may not begin beside it: its thread, or else its own key.

        None if nothing is named. It is no more than a hint: what is of the wrong type is refused later.
        """
        for name in (*THREAD_ID_FIELDS, ITEM_KEY):
            if isinstance(value := self.fields.get(name), str) and value.strip():
                return f"{'key' if name == ITEM_KEY else 'thread'} {value}"
        return None

    @property
    def key(self) -> str | None:
        """Its own idempotency key, else the batch's for its place; raises `InvalidFieldError` for no string."""
        own = self.fields.get(ITEM_KEY)
        if own is None:
            return self.batch_key
        if not isinstance(own, str):
            raise InvalidFieldError(f"The field {ITEM_KEY!r} is a JSON {json_type(own)}. Send a string.")
        read_idempotency_key({IDEMPOTENCY_KEY: own})
        return own

    def body(self) -> bytes:
        """Return it as the body of a request for one run; raises `InvalidFieldError` for members of the batch."""
        for name in _OF_THE_BATCH:
            if name in self.fields:
                raise InvalidFieldError(f"The field {name!r} is for all requests. Send it beside {REQUESTS!r}.")
        return json.dumps({name: value for name, value in self.fields.items() if name != ITEM_KEY}).encode()


class BatchCall(Struct, frozen=True):
    """A caller's batch: the answer that is wanted, and the requests in their order."""

    wanted: Wanted
    items: Sequence[Item]

    @property
    def lines(self) -> Sequence[Sequence[Item]]:
        """The requests in lines that may go beside each other: those of one thread are in one line, in their order."""
        lines: dict[str, list[Item]] = {}
        for item in self.items:
            lines.setdefault(item.line or f"none {item.index}", []).append(item)
        return list(lines.values())


def read_batch(call: RawRequest, most_bytes: int) -> BatchCall:
    """Return the batch of a request; raise a `HostingError` of `errors.REQUEST_ERRORS` for a form that is wrong."""
    if body_form(call, most_bytes) != "json":
        raise UnsupportedMediaTypeError(f"The body of this request is JSON. Send application/json: {_EXAMPLE}.")
    fields = json_fields(call.body, _MEMBERS)
    requests = _requests(fields.get(REQUESTS))
    streams = fields.get(STREAM) is not None and read_flag(STREAM, fields[STREAM])
    form = answer_form(call.headers.get("accept", ""), "events" if streams else "json")
    wanted = read_wanted(fields, call, "json" if form == "text" else form)
    key = read_idempotency_key(call.headers)
    digest = None if key is None else hashlib.sha256(key.encode()).hexdigest()
    return BatchCall(
        wanted,
        [
            Item(index, members, None if digest is None else f"batch-{digest}-{index}")
            for index, members in enumerate(requests)
        ],
    )


def _requests(value: object) -> list[dict[str, Any]]:
    """Return the requests of a body, each an object."""
    if not isinstance(value, list):
        raise InvalidFieldError(f"The field {REQUESTS!r} is a JSON {json_type(value)}. Send a list: {_EXAMPLE}.")
    if not 1 <= len(value) <= MOST_REQUESTS:
        raise InvalidFieldError(f"The field {REQUESTS!r} has {len(value)} requests. Send 1 to {MOST_REQUESTS} of them.")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise InvalidFieldError(
                f"The field '{REQUESTS}[{index}]' is a JSON {json_type(item)}. Send an object of a run's fields."
            )
    return value
