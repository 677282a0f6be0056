"""The change feed of Cosmos DB: one batch of documents, by hand."""

from __future__ import annotations

import json
import uuid

from azure.functions.meta import Datum

from devhost.triggers.sent_message import SendError, SentMessage, TriggerValue


def value_of(message: SentMessage) -> TriggerValue:
    """Return the documents of the body, an object or a list of them, with the members that the service adds."""
    if message.metadata:
        raise SendError("A change feed has no metadata. Put all members into the document, --body '{\"id\": ...}'.")
    try:
        content = json.loads(message.body)
    except ValueError as error:
        raise SendError(f"The body must be a JSON document, or a list of them, but it is no JSON: {error}.") from None
    documents = content if isinstance(content, list) else [content]
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise SendError("The body must be a JSON document, or a list of them.")
    return TriggerValue(Datum(json.dumps([_stored(document, message) for document in documents]), "json"), {})


def _stored(document: dict[str, object], message: SentMessage) -> dict[str, object]:
    added: dict[str, object] = {
        "id": str(uuid.uuid4()),
        "_rid": uuid.uuid4().hex[:16],
        "_etag": f'"{uuid.uuid4()}"',
        "_ts": int(message.sent.timestamp()),
        "_lsn": message.next_number(),
    }
    return {**added, **document}
