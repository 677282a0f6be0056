"""What Azure Tables refuses for its size and Azurite takes, and what a refused batch is answered with.

The limits, codes and statuses are those of Microsoft's pages on the table service's data model and error codes. Values
above 64 KiB and batches above 4 MiB Azurite refuses itself.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MOST_ENTITY_BYTES = 1 << 20
MOST_PROPERTIES = 252
"""An entity has 255, of which three are the service's own."""
MOST_CHANGES = 100
_OWN_PROPERTIES = {"PartitionKey", "RowKey", "Timestamp"}
_SIZES = {"Edm.Int64": 8, "Edm.DateTime": 8, "Edm.Double": 8, "Edm.Guid": 16}
_BOUNDARY = re.compile(rb"boundary=\"?(changeset[^\s\";]+)")
_BLANK = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True)
class Refusal:
    """How the service refuses: `index` is of the change in its batch, and None where the whole request is refused."""

    status: int
    code: str
    message: str
    index: int | None = None

    def as_json(self) -> bytes:
        """Return the error as the table service says it; a change's index stands before the message."""
        where = "" if self.index is None else f"{self.index}:"
        text = f"{where}{self.message}\nRequestId:{uuid.uuid4()}\nTime:2026-01-01T00:00:00.0000000Z"
        return json.dumps({"odata.error": {"code": self.code, "message": {"lang": "en-US", "value": text}}}).encode()


ENTITY = Refusal(400, "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).")
PROPERTIES = Refusal(400, "TooManyProperties", "The entity contains more properties than allowed.")
CHANGES = Refusal(
    400, "InvalidInput", "The batch request operation exceeds the maximum 100 changes per change set.", MOST_CHANGES - 1
)


def refusal_of(body: bytes, *, is_batch: bool) -> Refusal | None:
    """Return how Azure refuses what is written, or None.

    What a merge adds to an entity that is there is not known here: only what is sent is weighed.
    """
    if not is_batch:
        return _entity_refusal(_parsed(body))
    changes = changes_of(body)
    if len(changes) > MOST_CHANGES:
        return CHANGES
    for index, change in enumerate(changes):
        if refusal := _entity_refusal(change):
            return Refusal(refusal.status, refusal.code, refusal.message, index)
    return None


def changes_of(body: bytes) -> list[Mapping[str, Any]]:
    """Return the entities of a batch's changes, in their order; a deletion's is empty."""
    found = _BOUNDARY.search(body)
    if found is None:
        return []
    parts = body.split(b"--" + found[1])[1:-1]
    pieces = [_BLANK.split(part, maxsplit=2) for part in parts]
    return [_parsed(piece[2]) if len(piece) == 3 else {} for piece in pieces]


def batch_answer(refusal: Refusal) -> tuple[str, bytes]:
    """Return the content type and the body of a 202 that says that one change failed, and that none was made."""
    batch, changes = f"batchresponse_{uuid.uuid4()}", f"changesetresponse_{uuid.uuid4()}"
    lines = [
        f"--{batch}",
        f"Content-Type: multipart/mixed; boundary={changes}",
        "",
        f"--{changes}",
        "Content-Type: application/http",
        "Content-Transfer-Encoding: binary",
        "",
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-cache",
        "Preference-Applied: return-no-content",
        "DataServiceVersion: 3.0;",
        "Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
        "",
        refusal.as_json().decode(),
        f"--{changes}--",
        f"--{batch}--",
        "",
    ]
    return f"multipart/mixed; boundary={batch}", "\r\n".join(lines).encode()


def _entity_refusal(entity: Mapping[str, Any]) -> Refusal | None:
    names = [name for name in entity if not name.endswith("@odata.type") and not name.startswith("odata.")]
    own = [name for name in names if name not in _OWN_PROPERTIES]
    keys = sum(_text_bytes(str(entity.get(name, ""))) for name in ("PartitionKey", "RowKey"))
    values = (_size(entity[name], entity.get(f"{name}@odata.type")) for name in own)
    whole = 4 + keys + sum(8 + _text_bytes(name) for name in own) + sum(values)
    if len(own) > MOST_PROPERTIES:
        return PROPERTIES
    return ENTITY if whole > MOST_ENTITY_BYTES else None


def _size(value: Any, kind: str | None) -> int:
    if kind == "Edm.Binary":
        return 4 + len(base64.b64decode(value))
    if kind in _SIZES:
        return _SIZES[kind]
    if isinstance(value, str):
        return 4 + _text_bytes(value)
    return 1 if isinstance(value, bool) else 8 if isinstance(value, float) else 4


def _text_bytes(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass"))


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        entity = json.loads(body)
    except ValueError:
        return {}  # Azurite says what is wrong with it
    return entity if isinstance(entity, dict) else {}
