"""Event Hubs: one event, by hand."""

from __future__ import annotations

from azure.functions.meta import Datum

from devhost.triggers.sent_message import SentMessage, TriggerValue, batch_of, data_of


def value_of(message: SentMessage, *, many: bool) -> TriggerValue:
    """Return an event with a sequence number and an offset; metadata that are no member of it are its properties."""
    number = message.next_number()
    members: dict[str, object] = {
        "SequenceNumber": number,
        "Offset": str(number),
        "PartitionKey": None,
        "EnqueuedTimeUtc": message.moment,
    }
    values, properties = message.over(members)
    system = {name: value for name, value in values.items() if value is not None}
    if many:
        batch = {f"{name}Array": [value] for name, value in system.items()}
        arrays: dict[str, object] = {**batch, "SystemPropertiesArray": [system], "PropertiesArray": [properties]}
        return TriggerValue(batch_of([message.body]), data_of(arrays))
    return TriggerValue(
        Datum(message.body, "string"), data_of({**values, "SystemProperties": system, "Properties": properties})
    )
