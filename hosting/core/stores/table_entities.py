"""How a thread stands in a partition of Azure Tables, and how changes to it are sent: entities, and batches of them.

The partition's key is the address. `head` is the head; `e<position>` holds events that were appended together, up to
that position, zero padded, so that the order of keys is that of events; `r-<name>` is a row. Bytes stand in the binary
properties p0, p1, ..., because one property takes 64 KiB; an entity takes 1 MiB with all that is around them.

A batch is multipart MIME, which is written and read by hand here: the official client has Python's email package do
both, which is two thirds of the processor time of an append (benchmarks.md). Its policies still send the batch: dates,
credentials and traces are its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import quote

import msgspec
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline import AsyncPipeline
from azure.core.rest import AsyncHttpResponse, HttpRequest
from azure.data.tables import EdmType
from azure.data.tables.aio import TableClient
from msgspec import Struct

from hosting.core.stores.contract import Append, Row, StoredEvent, StoredHead
from hosting.names import new_id

HEAD = "head"
KEYS = ["PartitionKey", "RowKey"]
PART_BYTES = 64 * 1024
MOST_PARTS = 15
"""Of 64 KiB in one entity; the rest of its 1 MiB is for names, keys and the service's additions."""

_LENGTH_BYTES = 4
Entity: TypeAlias = Mapping[str, Any]


def event_key(position: int) -> str:
    """Return the row key of events up to that last position."""
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
    """Return the row as it is written. `size` shows, without its payload, that it has one."""
    own = {"position": _int64(row.position), "size": len(row.payload)}
    return {"PartitionKey": partition, "RowKey": row_key(row.name), **own, **_parts(row.payload)}


def read_row(entity: Entity) -> Row:
    """Return the row of an entity; without its parts read, the payload is empty."""
    return Row(entity["RowKey"].removeprefix("r-"), entity["position"].value, _payload(entity))


def event_entities(partition: str, append: Append, first: int) -> list[Entity]:
    """Return the events of an append, from position `first` on, in as few entities as their bytes allow."""
    entities: list[Entity] = []
    group: list[bytes] = []
    size = 0
    for event in append.events:
        added = _LENGTH_BYTES + len(event)
        if size + added > MOST_PARTS * PART_BYTES:
            entities.append(_events_entity(partition, append.head.append_id, first, group))
            first, group, size = first + len(group), [], 0
        group.append(event)
        size += added
    if group:
        entities.append(_events_entity(partition, append.head.append_id, first, group))
    return entities


def read_events(entity: Entity, after: int) -> list[StoredEvent]:
    """Return the entity's events after position `after`."""
    packed, offset = _payload(entity), 0
    position, events = entity["first"].value, []
    while offset < len(packed):
        begin = offset + _LENGTH_BYTES
        offset = begin + int.from_bytes(packed[offset:begin], "big")
        if position > after:
            events.append(StoredEvent(position, packed[begin:offset]))
        position += 1
    return events


def without_events(entity: Entity, through: int) -> Entity:
    """Return the entity, under its key, with nothing but the events after `through`."""
    left = [event.payload for event in read_events(entity, through)]
    return _events_entity(entity["PartitionKey"], entity["append_id"], through + 1, left)


def etag_of(entity: Any) -> str:
    """Return the version at which an entity was read."""
    return str(entity.metadata["etag"])


def _events_entity(partition: str, append_id: str, first: int, events: list[bytes]) -> Entity:
    own = {"first": _int64(first), "append_id": append_id}
    packed = b"".join(len(event).to_bytes(_LENGTH_BYTES, "big") + event for event in events)
    return {"PartitionKey": partition, "RowKey": event_key(first + len(events) - 1), **own, **_parts(packed)}


def _parts(payload: bytes) -> dict[str, bytes]:
    starts = range(0, len(payload), PART_BYTES)
    return {f"p{number}": payload[start : start + PART_BYTES] for number, start in enumerate(starts)}


def _payload(entity: Entity) -> bytes:
    parts = (entity.get(f"p{number}") for number in range(MOST_PARTS))
    return b"".join(part for part in parts if part)


def _int64(number: int) -> tuple[int, EdmType]:
    return number, EdmType.INT64


MOST_CHANGES = 100
_HEADERS = {"Accept": "application/json", "DataServiceVersion": "3.0", "MaxDataServiceVersion": "3.0;NetFx"}
_PART = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: "
_MINIMAL = "DataServiceVersion: 3.0\r\nAccept: application/json;odata=minimalmetadata\r\n"
_HEADERS_OF = {
    "POST": f"Content-Type: application/json\r\n{_MINIMAL}Prefer: return-no-content\r\n",
    "PUT": "Content-Type: application/json\r\nDataServiceVersion: 3.0\r\nAccept: application/json\r\n",
    "DELETE": _MINIMAL,
}
"""The headers that the official client sends with each change."""

_ANSWER = b"\nHTTP/1.1 "
_ETAG = re.compile(rb"^etag:\s*(.*?)\s*$", re.IGNORECASE | re.MULTILINE)


class EntityChange(Struct, frozen=True):
    """One entity of a batch: inserted (POST), inserted or replaced (PUT), or removed (DELETE).

    With an `etag` it is refused unless the entity is there and has it.
    """

    method: str
    entity: Entity
    etag: str | None = None


class BatchError(HttpResponseError):
    """The service carried out no part of a batch; `error_code` is its name of the reason."""

    def __init__(self, status: object, error: bytes, response: Any) -> None:
        code, message = _code_and_message(error)
        self.error_code = code or response.headers.get("x-ms-error-code", "")
        super().__init__(message or f"The service answered {status} {self.error_code}.", response)


class Table(Struct, frozen=True):
    """A table: its official client, and the pipeline that sends the calls of both."""

    client: TableClient
    pipeline: AsyncPipeline[HttpRequest, AsyncHttpResponse]


async def submit(table: Table, changes: Sequence[EntityChange]) -> list[str]:
    """Make all changes, at most 100 of one partition, or none; return the entities' etags, "" for removed ones.

    One call. Raises `BatchError` where the service refuses, and what the client raises where it does not answer.
    """
    kind, body = encode_batch(f"{table.client.url}/{table.client.table_name}", changes, table.client.api_version)
    headers = {**_HEADERS, "x-ms-version": table.client.api_version, "Content-Type": kind}
    request = HttpRequest("POST", f"{table.client.url}/$batch", headers=headers, content=body)
    # Streamed, because a policy would take the answer for JSON.
    response = (await table.pipeline.run(request, stream=True, request_id=new_id())).http_response
    content = await response.read()
    if response.status_code != HTTPStatus.ACCEPTED:
        raise BatchError(response.status_code, content, response)
    answers = content.split(_ANSWER)[1:]
    refused = next((answer for answer in answers if not answer.startswith(b"2")), None)
    if refused is not None:
        raise BatchError(refused[:3].decode("latin-1"), refused, response)
    if len(answers) != len(changes):
        raise BatchError(response.status_code, content, response)
    return [etag[1].decode() if (etag := _ETAG.search(answer)) else "" for answer in answers]


def encode_batch(url: str, changes: Sequence[EntityChange], version: str) -> tuple[str, bytes]:
    """Return the content type and the body of a request that makes these changes in the table at the address."""
    batch, changeset = f"batch_{new_id()}", f"changeset_{new_id()}"
    lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={changeset}", ""]
    for number, change in enumerate(changes):
        keys = f"(PartitionKey='{quote(change.entity['PartitionKey'])}',RowKey='{quote(change.entity['RowKey'])}')"
        target = f"{change.method} {url}{'' if change.method == 'POST' else keys} HTTP/1.1\r\n"
        headers = f"{_HEADERS_OF[change.method]}x-ms-version: {version}\r\n"
        headers += "" if change.etag is None else f"If-Match: {change.etag}\r\n"
        body = "" if change.method == "DELETE" else _encoded(change.entity)  # of ASCII alone
        headers += f"Content-Length: {len(body)}\r\n" if body else ""
        lines += [f"--{changeset}", f"{_PART}{number}\r\n\r\n{target}{headers}\r\n{body}"]
    lines += [f"--{changeset}--", f"--{batch}--", ""]
    return f"multipart/mixed; boundary={batch}", "\r\n".join(lines).encode()


def _encoded(entity: Entity) -> str:
    properties: dict[str, object] = {}
    for name, value in entity.items():
        properties[name] = value
        if isinstance(value, bytes):  # the encoder writes them in base64
            properties[f"{name}@odata.type"] = "Edm.Binary"
        elif isinstance(value, tuple):
            properties[name], properties[f"{name}@odata.type"] = str(value[0]), value[1].value
    return msgspec.json.encode(properties).decode()


def _code_and_message(error: bytes) -> tuple[str, str]:
    try:
        parsed = json.loads(error[error.find(b"{") : error.rfind(b"}") + 1])["odata.error"]
        return str(parsed["code"]), str(parsed["message"]["value"]).splitlines()[0]
    except (ValueError, KeyError, TypeError, IndexError):
        return "", ""
