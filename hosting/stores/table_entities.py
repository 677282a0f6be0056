"""How a thread stands in a partition of Azure Tables: its head, its events and its rows as entities, and back.

The partition's key is the address. `head` is the head; `e<position>` holds events that were appended together, up to
that position, zero padded, so that the order of keys is that of events; `r-<name>` is a row. Bytes stand in the binary
properties p0, p1, ..., because one property takes 64 KiB; an entity takes 1 MiB with all that is around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from azure.data.tables import EdmType

from hosting.stores.contract import Append, Row, StoredEvent, StoredHead

HEAD = "head"
KEYS = ["PartitionKey", "RowKey"]
PART_BYTES = 64 * 1024
MOST_PARTS = 15
"""Of 64 KiB in one entity; what is left of its 1 MiB is for names, keys and what the service adds."""

_LENGTH_BYTES = 4
Entity: TypeAlias = Mapping[str, Any]


def event_key(position: int) -> str:
    """Return the row key of events whose last one has that position."""
    return f"e{position:016d}"


def row_key(name: str) -> str:
    """Return the row key of the row of that name."""
    return f"r-{name}"


def head_entity(partition: str, head: StoredHead) -> Entity:
    """Return the head as it is written; its tag is not in it."""
    own = {"position": _int64(head.position), "append_id": head.append_id}
    return {"PartitionKey": partition, "RowKey": HEAD, **own, **_parts(head.payload)}


def read_head(entity: Entity) -> StoredHead:
    """Return the head of an entity that was read; its tag is the entity's etag."""
    return StoredHead(entity["position"].value, entity["append_id"], _payload(entity), etag_of(entity))


def row_entity(partition: str, row: Row) -> Entity:
    """Return the row as it is written. `size` tells, without its payload, that it has one."""
    own = {"position": _int64(row.position), "size": len(row.payload)}
    return {"PartitionKey": partition, "RowKey": row_key(row.name), **own, **_parts(row.payload)}


def read_row(entity: Entity) -> Row:
    """Return the row of an entity; of one that was read without its parts, the payload is empty."""
    return Row(entity["RowKey"].removeprefix("r-"), entity["position"].value, _payload(entity))


def event_entities(partition: str, append: Append, first: int) -> list[Entity]:
    """Return the events of an append, from position `first` on, in as few entities as their bytes allow."""
    entities = []
    for group in _groups(append.events):
        entities.append(_events_entity(partition, append.head.append_id, first, group))
        first += len(group)
    return entities


def read_events(entity: Entity, after: int) -> list[StoredEvent]:
    """Return the entity's events behind position `after`."""
    positions = range(first_position(entity), last_position(entity) + 1)
    payloads = zip(positions, _unpacked(_payload(entity)), strict=True)
    return [StoredEvent(position, payload) for position, payload in payloads if position > after]


def without_events(entity: Entity, through: int) -> Entity:
    """Return the entity, under its key, with nothing but the events behind `through`."""
    left = [event.payload for event in read_events(entity, through)]
    return _events_entity(entity["PartitionKey"], entity["append_id"], through + 1, left)


def first_position(entity: Entity) -> int:
    """Return the position of the first event in an entity of events."""
    position: int = entity["first"].value
    return position


def last_position(entity: Entity) -> int:
    """Return the position of the last event in an entity of events."""
    return int(entity["RowKey"][1:])


def etag_of(entity: Any) -> str:
    """Return the version at which an entity was read."""
    return str(entity.metadata["etag"])


def _events_entity(partition: str, append_id: str, first: int, events: list[bytes]) -> Entity:
    own = {"first": _int64(first), "append_id": append_id}
    packed = b"".join(len(event).to_bytes(_LENGTH_BYTES, "big") + event for event in events)
    return {"PartitionKey": partition, "RowKey": event_key(first + len(events) - 1), **own, **_parts(packed)}


def _groups(events: tuple[bytes, ...]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for event in events:
        added = _LENGTH_BYTES + len(event)
        if size + added > MOST_PARTS * PART_BYTES:
            yield group
            group, size = [], 0
        group.append(event)
        size += added
    if group:
        yield group


def _unpacked(packed: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(packed):
        begin = at + _LENGTH_BYTES
        at = begin + int.from_bytes(packed[at:begin], "big")
        yield packed[begin:at]


def _parts(payload: bytes) -> dict[str, bytes]:
    return {f"p{at // PART_BYTES}": payload[at : at + PART_BYTES] for at in range(0, len(payload), PART_BYTES)}


def _payload(entity: Entity) -> bytes:
    parts = (entity.get(f"p{number}") for number in range(MOST_PARTS))
    return b"".join(part for part in parts if part)


def _int64(number: int) -> tuple[int, EdmType]:
    return number, EdmType.INT64
