"""Event Grid: one event, by hand."""

from __future__ import annotations

import json
import uuid

from azure.functions.meta import Datum

from devhost.triggers.sent_message import SendError, SentMessage, TriggerValue, data_of


def value_of(message: SentMessage) -> TriggerValue:
    """Return the event: the body itself where it is a whole event or cloud event, else one around the body."""
    try:
        content = json.loads(message.body)
    except ValueError:
        content = message.body
    is_event = isinstance(content, dict) and ("specversion" in content or {"id", "eventType"} <= content.keys())
    event = content if is_event else _around(content, message)
    values, rest = message.over(event)
    if rest:
        raise SendError(f"An event has no member {', '.join(sorted(rest))}; it has {', '.join(event)}.")
    return TriggerValue(Datum(json.dumps(values), "json"), data_of({"data": values.get("data")}))


def _around(content: object, message: SentMessage) -> dict[str, object]:
    return {
        "id": str(uuid.uuid4()),
        "topic": "/local",
        "subject": "sent by hand",
        "eventType": "Local.Sent",
        "eventTime": message.moment,
        "data": content,
        "dataVersion": "1.0",
    }
