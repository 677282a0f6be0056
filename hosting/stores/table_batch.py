"""A batch of changes as Azure Tables takes it, and its answer: multipart MIME, written and read by hand.

The official client has Python's email package do both, which is two thirds of the processor time of an append
(docs/benchmarks.md). Its pipeline still sends it: who we are, time limits and connections are its own.
"""

from __future__ import annotations

import json
import re
import uuid
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from azure.core.exceptions import HttpResponseError
from azure.core.rest import HttpRequest
from azure.data.tables.aio import TableClient

from hosting.stores.table_entities import Entity

MOST_CHANGES = 100
_VERSION = "DataServiceVersion: 3.0"
_JSON = "Content-Type: application/json"
_HEADERS = {"Accept": "application/json", "DataServiceVersion": "3.0", "MaxDataServiceVersion": "3.0;NetFx"}
_HEADERS_OF = {
    "POST": [_JSON, _VERSION, "Prefer: return-no-content", "Accept: application/json;odata=minimalmetadata"],
    "PUT": [_JSON, _VERSION, "Accept: application/json"],
    "DELETE": [_VERSION, "Accept: application/json;odata=minimalmetadata"],
}
"""What the official client says with each."""

_ANSWER = re.compile(rb"HTTP/1\.1 (\d{3})[^\n]*\n(.*?)(?=\nHTTP/1\.1 |\Z)", re.DOTALL)
_ETAG = re.compile(rb"^etag:\s*(.*?)\s*$", re.IGNORECASE | re.MULTILINE)
_ERROR = re.compile(rb"\{.*\}", re.DOTALL)


@dataclass(frozen=True)
class Change:
    """One entity of a batch: inserted (POST), written over what is there or is not (PUT), or removed (DELETE).

    With an `etag` it is refused unless the entity is there and has it.
    """

    method: str
    entity: Entity
    etag: str | None = None


class BatchError(HttpResponseError):
    """The service did not carry a batch out, nor any part of it; `error_code` is what it calls that."""

    def __init__(self, status: int, error: bytes, response: Any) -> None:
        code, said = _code_and_message(error)
        self.error_code = code or response.headers.get("x-ms-error-code", "")
        super().__init__(said or f"The service answered {status} {self.error_code}.", response)


async def submit(table: TableClient, changes: Sequence[Change]) -> list[str]:
    """Make all changes, at most 100 of one partition, or none; return the entities' etags, "" for removed ones.

    One call. Raises `BatchError` where the service refuses, and what the client raises where it does not answer.
    """
    kind, body = encode_batch(f"{table.url}/{table.table_name}", changes, table.api_version)
    headers = {**_HEADERS, "x-ms-version": table.api_version, "Content-Type": kind}
    request = HttpRequest("POST", f"{table.url}/$batch", headers=headers, content=body)
    # The client has no public call for a body of one's own. Streamed, because it would take the answer for JSON.
    response = await table._client.send_request(request, stream=True)
    content = await response.read()
    if response.status_code != HTTPStatus.ACCEPTED:
        raise BatchError(response.status_code, content, response)
    etags = []
    for status, rest in _ANSWER.findall(content):
        if not status.startswith(b"2"):
            raise BatchError(int(status), rest, response)
        etag = _ETAG.search(rest)
        etags.append(etag[1].decode() if etag else "")
    if len(etags) != len(changes):
        raise BatchError(response.status_code, content, response)
    return etags


def encode_batch(url: str, changes: Sequence[Change], version: str) -> tuple[str, bytes]:
    """Return the content type and the body of a request that makes these changes in the table at the address."""
    batch, changeset = f"batch_{uuid.uuid4()}", f"changeset_{uuid.uuid4()}"
    lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={changeset}", ""]
    for number, change in enumerate(changes):
        lines += [f"--{changeset}", "Content-Type: application/http", "Content-Transfer-Encoding: binary"]
        lines += [f"Content-ID: {number}", "", *_request(url, change, version)]
    lines += [f"--{changeset}--", f"--{batch}--", ""]
    return f"multipart/mixed; boundary={batch}", "\r\n".join(lines).encode()


def _request(url: str, change: Change, version: str) -> list[str]:
    headers = [*_HEADERS_OF[change.method], f"x-ms-version: {version}"]
    headers += [] if change.etag is None else [f"If-Match: {change.etag}"]
    if change.method == "DELETE":
        return [f"DELETE {url}{_keys(change.entity)} HTTP/1.1", *headers, "", ""]
    body = _encoded(change.entity)  # of ASCII alone
    keys = _keys(change.entity) if change.method == "PUT" else ""
    return [f"{change.method} {url}{keys} HTTP/1.1", *headers, f"Content-Length: {len(body)}", "", body]


def _keys(entity: Entity) -> str:
    return f"(PartitionKey='{quote(entity['PartitionKey'])}',RowKey='{quote(entity['RowKey'])}')"


def _encoded(entity: Entity) -> str:
    properties: dict[str, object] = {}
    for name, value in entity.items():
        if isinstance(value, bytes):
            properties[name], properties[f"{name}@odata.type"] = b64encode(value).decode(), "Edm.Binary"
        elif isinstance(value, tuple):
            properties[name], properties[f"{name}@odata.type"] = str(value[0]), value[1].value
        else:
            properties[name] = value
    return json.dumps(properties)


def _code_and_message(error: bytes) -> tuple[str, str]:
    found = _ERROR.search(error)
    try:
        told = json.loads(found[0])["odata.error"] if found else {}
        return str(told["code"]), str(told["message"]["value"]).splitlines()[0]
    except (ValueError, KeyError, TypeError, IndexError):
        return "", ""
