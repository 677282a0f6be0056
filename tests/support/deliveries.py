"""Deliveries as the worker gives them to a function: the SDK's own objects, read by its own converters.

Metadata is as the real host sends it: the members of a JSON body are among it, and replace what has their name, in any
letter case. Its names are those of `GetBindingData` in the extensions (Azure/azure-sdk-for-net:
ServiceBusTriggerBindingStrategy.cs, EventHubTriggerBindingStrategy.cs). `ToRpc` of the host
(Azure/azure-functions-host: GrpcMessageConversionExtensions.cs) sends texts, and lists of texts or long numbers, as
such, and all else as JSON. It leaves empty texts out of a list, so that a batch has fewer texts than messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import azure.functions as func
from azure.functions.blob import InputStream
from azure.functions.cosmosdb import CosmosDBTriggerConverter
from azure.functions.eventgrid import EventGridEventInConverter
from azure.functions.eventhub import EventHubTriggerConverter
from azure.functions.meta import Datum
from azure.functions.queue import QueueMessageInConverter
from azure.functions.servicebus import ServiceBusMessageInConverter
from azure.functions.timer import TimerRequestConverter

INSERTED = "2026-11-29T10:53:57+00:00"
EXPIRES = "2026-12-06T10:53:57+00:00"


class Out:
    """An output of a function, as the worker gives it; `values` are what it was set to."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def set(self, value: Any) -> None:
        """Take a value, which the host writes once the function has returned."""
        self.values.append(value)


def _metadata(own: Mapping[str, Any], body: str) -> dict[str, Datum]:
    """Return the metadata of a message, with what its body puts there."""
    metadata = {name: value if isinstance(value, Datum) else Datum(value, "string") for name, value in own.items()}
    try:
        members = json.loads(body)
    except ValueError:
        members = None
    names = {name.lower(): name for name in metadata}
    for name, value in (members if isinstance(members, dict) else {}).items():
        if not isinstance(value, list):
            datum = Datum(json.dumps(value), "json") if isinstance(value, dict) else Datum(str(value), "string")
            metadata[names.get(name.lower()) or name] = datum
    return metadata


def queued(body: str, id: str = "0694bc4c", *, inserted: str = INSERTED, tries: int = 1) -> Any:
    """Return a message of a storage queue, at one of its tries."""
    own = {
        "Id": id,
        "PopReceipt": f"receipt {tries}",
        "QueueTrigger": body,
        "DequeueCount": Datum(str(tries), "json"),
        "InsertionTime": Datum(json.dumps(inserted), "json"),
        "ExpirationTime": Datum(json.dumps(EXPIRES), "json"),
        "NextVisibleTime": Datum(json.dumps(f"2026-11-29T11:0{tries}:57+00:00"), "json"),
    }
    return QueueMessageInConverter.decode(Datum(body, "string"), trigger_metadata=_metadata(own, body))


def bus_message(body: str, id: str | None = "m1", number: int = 1, session: str | None = None, tries: int = 1) -> Any:
    own: dict[str, Any] = {
        "UserProperties": Datum("{}", "json"),
        "SequenceNumber": Datum(str(number), "json"),
        "DeliveryCount": Datum(str(tries), "json"),
        "EnqueuedTimeUtc": Datum(json.dumps(INSERTED), "json"),
        "LockToken": f"lock {tries}",
    }
    own |= {name: value for name, value in {"MessageId": id, "SessionId": session}.items() if value is not None}
    return ServiceBusMessageInConverter.decode(Datum(body, "string"), trigger_metadata=_metadata(own, body))


def bus_batch(*messages: tuple[str, str | None, int, str | None]) -> list[Any]:
    """Return a batch of Service Bus: of each message its body, its id, its sequence number and its session."""
    bodies, ids, numbers, sessions = zip(*messages, strict=True)
    metadata = {
        "UserPropertiesArray": Datum(json.dumps([{} for _ in messages]), "json"),
        "ApplicationPropertiesArray": Datum(json.dumps([{} for _ in messages]), "json"),
        "MessageIdArray": _texts(ids),
        "SessionIdArray": _texts(sessions),
        "SequenceNumberArray": Datum(SimpleNamespace(sint64=list(numbers)), "collection_sint64"),
        "DeliveryCountArray": Datum(json.dumps([1 for _ in messages]), "json"),
        "EnqueuedTimeUtcArray": Datum(json.dumps([INSERTED for _ in messages]), "json"),
    }
    batch: Any = ServiceBusMessageInConverter.decode(_texts(bodies), trigger_metadata=metadata)
    return list(batch)


def _texts(texts: Sequence[str | None]) -> Datum:
    return Datum(SimpleNamespace(string=[text for text in texts if text]), "collection_string")


def grid_event(data: Any, id: str = "e1", **more: Any) -> Any:
    """Return an event of Event Grid, in its own schema or as a CloudEvent."""
    own = {"topic": "orders", "subject": "s", "eventType": "t", "eventTime": INSERTED, "dataVersion": "1"}
    event = {"id": id, "data": data, **(more if "specversion" in more else {**own, **more})}
    return EventGridEventInConverter.decode(Datum(json.dumps(event), "json"), trigger_metadata=None)


def hub_events(*bodies: str, partition: str = "0", first: int = 1) -> list[Any]:
    """Return a batch of Event Hubs, from one place in a partition on."""
    numbers = range(first, first + len(bodies))
    context = {"FullyQualifiedNamespace": "n", "EventHubName": "events", "ConsumerGroup": "$Default"}
    context |= {"PartitionId": partition}
    properties = [
        {"x-opt-sequence-number": n, "SequenceNumber": n, "Offset": f"{n * 100}", "PartitionKey": None}
        | {"EnqueuedTimeUtc": INSERTED}
        for n in numbers
    ]
    metadata = {
        "PartitionContext": Datum(json.dumps(context), "json"),
        "TriggerPartitionContext": Datum(json.dumps(context), "json"),
        "PartitionKeyArray": _texts([None for _ in bodies]),
        "OffsetArray": _texts([f"{n * 100}" for n in numbers]),
        "SequenceNumberArray": Datum(SimpleNamespace(sint64=list(numbers)), "collection_sint64"),
        "EnqueuedTimeUtcArray": Datum(json.dumps([INSERTED for _ in bodies]), "json"),
        "PropertiesArray": Datum(json.dumps([{} for _ in bodies]), "json"),
        "SystemPropertiesArray": Datum(json.dumps(properties), "json"),
    }
    batch: Any = EventHubTriggerConverter.decode(_texts(bodies), trigger_metadata=metadata)
    return list(batch)


def documents(*fields: Mapping[str, Any]) -> func.DocumentList:
    """Return a batch of a change feed."""
    changed = CosmosDBTriggerConverter.decode(Datum(json.dumps(fields), "string"), trigger_metadata=None)
    assert changed is not None
    return changed


def blob(content: bytes, name: str = "inbox/a.txt", etag: str | None = '"0x1"') -> InputStream:
    return InputStream(data=content, name=name, blob_properties={"ETag": etag} if etag else None)


def tick(last: str | None, *, past_due: bool = False) -> Any:
    """Return a tick after the one at `last`; None without a monitor."""
    status = None if last is None else {"Last": last, "Next": "2026-11-29T12:00:00+00:00", "LastUpdated": last}
    text = json.dumps({"IsPastDue": past_due, "Schedule": {"AdjustForDST": True}, "ScheduleStatus": status})
    return TimerRequestConverter.decode(Datum(text, "json"), trigger_metadata=None)
