"""Service Bus queues and topics: one message, by hand."""

from __future__ import annotations

import uuid
from datetime import timedelta

from azure.functions.meta import Datum

from devhost.triggers.sent_message import SendError, SentMessage, TriggerValue, batch_of, data_of

_LOCK = timedelta(minutes=5)
_TIME_TO_LIVE = timedelta(days=14)


def value_of(message: SentMessage, *, many: bool, needs_session: bool) -> TriggerValue:
    """Return a message with an id and a sequence number; metadata that are no member of it are its properties."""
    if needs_session and message.session is None:
        raise SendError("The function listens to sessions. Give --session with the session's id.")
    number = message.next_number()
    members: dict[str, object] = {
        "MessageId": uuid.uuid4().hex,
        "SequenceNumber": number,
        "EnqueuedSequenceNumber": number,
        "DeliveryCount": 1,
        "EnqueuedTimeUtc": message.moment,
        "ExpiresAtUtc": _later(message, _TIME_TO_LIVE),
        "LockedUntil": _later(message, _LOCK),
        "LockToken": str(uuid.uuid4()),
        "State": 0,
        "SessionId": message.session,
        **dict.fromkeys(
            (
                "ContentType",
                "CorrelationId",
                "DeadLetterSource",
                "Label",
                "PartitionKey",
                "ReplyTo",
                "ReplyToSessionId",
            ),
        ),
        **dict.fromkeys(("Subject", "To", "TransactionPartitionKey")),
    }
    values, properties = message.over(members)
    values |= {"ApplicationProperties": properties, "UserProperties": properties}
    if many:
        batch = {f"{name}Array": [value] for name, value in values.items() if value is not None}
        return TriggerValue(batch_of([message.body]), data_of(batch))
    return TriggerValue(Datum(message.body, "string"), data_of(values))


def _later(message: SentMessage, span: timedelta) -> str:
    return (message.sent + span).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
