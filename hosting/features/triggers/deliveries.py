"""Deliveries of triggers: what says that two are one, their text, and the thread that they name.

Theory. A delivery comes again: after a failure, a killed process, or because the platform promises "at least once". The
host puts the members of a JSON body into the metadata of its message, in any letter case, so a sender may replace what
looks like the platform's own: a body `{"id": "x"}` makes a queue message's id "x". So no member is believed alone. What
says that two deliveries are one is a digest of all that stays the same when one comes again, the body among it. Two
messages with different bodies are then never one, whatever their senders wrote. The objects are those of the SDK, known
here by their attributes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from hosting.errors import InvalidEncodingError, InvalidFieldError


class TriggerDelivery(Struct, frozen=True):
    """One message, event, document, blob or tick: its `identity` as JSON values, and its text, None for a tick.

    `session` is the session of Service Bus that it belongs to.
    """

    identity: Sequence[Any]
    text: str | None
    session: str | None = None

    def key(self, function: str, name: str | None = None) -> str:
        """Return the idempotency key of its run; a `name` that the app gives it stands for the identity."""
        identity = [*self.identity] if name is None else ["named", name]
        digest = hashlib.sha256(json.dumps([function, identity], sort_keys=True, default=_text).encode()).hexdigest()
        return f"delivery/{digest}"

    def member(self, name: str) -> str:
        """Return a member of its JSON body as a text; raises `InvalidFieldError` where there is none."""
        try:
            body = json.loads(self.text or "")
        except ValueError:
            body = None
        value = body.get(name) if isinstance(body, dict) else None
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise InvalidFieldError(
                f"The delivery has no text or whole number {name!r} in its body, which thread_by names. Send it, or "
                "give thread_by a function."
            )
        return str(value)


def read_delivery(kind: str, value: Any, invocation: str) -> TriggerDelivery:
    """Return the delivery that a trigger of that binding type gave; raises `InvalidEncodingError` for one not in UTF-8.

    `invocation` is the id of the call, for a tick that nothing else names.
    """
    identity, text, session = _KINDS[kind](value, invocation)
    return TriggerDelivery([kind, *identity], text, session)


_Read = tuple[Sequence[Any], str | None, str | None]


def _queue(message: Any, invocation: str) -> _Read:
    """A message that is delivered again keeps its times; those of a poison queue are others, as its id is."""
    body = message.get_body()
    return (message.id, message.insertion_time, message.expiration_time, body), _decoded(body), None


def _service_bus(message: Any, invocation: str) -> _Read:
    """A sender who sends again keeps the message's id.

    A message without one has the place that the broker gave it, and so has one of a batch, or whose body took the id's
    place.
    """
    body, metadata = message.get_body(), message.metadata or {}
    text = _decoded(body)
    place = [message.sequence_number, message.enqueued_time_utc]
    if (sessions := metadata.get("SessionIdArray")) is not None or "SequenceNumberArray" in metadata:
        is_whole = len(sessions or ()) == len(metadata.get("SequenceNumberArray") or ())
        return (place, body), text, message.session_id if is_whole else None
    named = place if "messageid" in _members(text) else message.message_id or place
    return (named, body), text, message.session_id


def _event_grid(event: Any, invocation: str) -> _Read:
    """An id is unique for its source: the topic of Event Grid's own schema, the source of a CloudEvent."""
    data = event.get_json()
    source = getattr(event, "topic", None) or getattr(event, "source", None)
    return (source, event.id, data), data if isinstance(data, str) else _json(data), None


def _event_hub(event: Any, invocation: str) -> _Read:
    """A place in one partition; the name of the partition is in the metadata, where the host gives it."""
    body, metadata = event.get_body(), event.metadata or {}
    partition = metadata.get("PartitionContext") or metadata.get("TriggerPartitionContext") or {}
    name = partition.get("PartitionId") if isinstance(partition, Mapping) else None
    return (name, event.sequence_number, event.offset, event.enqueued_time, body), _decoded(body), None


def _blob(blob: Any, invocation: str) -> _Read:
    """One writing of a blob: it has an ETag of its own."""
    content = blob.read()
    etag = (blob.blob_properties or {}).get("ETag")
    return (blob.name, etag or content), _decoded(content), None


def _document(document: Any, invocation: str) -> _Read:
    """One writing of a document: `_lsn`, `_etag` and `_ts` are in it, and `_rid` is no other's."""
    fields = dict(document)
    return (fields,), _json(fields), None


def _tick(timer: Any, invocation: str) -> _Read:
    """A tick that is delivered again has the status that the one before it left. Without a monitor there is none."""
    status = timer.schedule_status
    return (status or invocation,), None, None


_KINDS: Mapping[str, Callable[[Any, str], _Read]] = {
    "queueTrigger": _queue,
    "serviceBusTrigger": _service_bus,
    "eventGridTrigger": _event_grid,
    "eventHubTrigger": _event_hub,
    "blobTrigger": _blob,
    "cosmosDBTrigger": _document,
    "timerTrigger": _tick,
}
KINDS = tuple(_KINDS)
"""The types of triggers whose deliveries begin runs."""


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise InvalidEncodingError("The body of the delivery is not UTF-8 text. Return the message instead.") from None


def _members(text: str) -> Sequence[str]:
    """Return the names of the members of a JSON body, in lower case: to the host they are the same."""
    try:
        body = json.loads(text)
    except ValueError:
        return []
    return [name.lower() for name in body] if isinstance(body, dict) else []


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_text)


def _text(value: Any) -> str:
    """Return the text of what an identity has besides JSON values."""
    if isinstance(value, bytes | bytearray):
        return hashlib.sha256(value).hexdigest()
    return value.isoformat() if isinstance(value, datetime) else str(value)
