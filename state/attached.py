"""Pictures and files that an entry refers to instead of holding them, so that a conversation stays small.

A `data` content becomes a `uri` content of our own scheme, which every reader of the document can read as a reference
that it does not know: `agent-attachment:sha256/<hash>?bytes=<size>`, of the bytes themselves. Everything else that the
content holds stays, so putting the bytes back gives the content that was. Only data whose URI can be written again from
its media type and bytes is taken out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from state.codec import entry_value, read_entry
from state.contents import AnyContent, DataContent, UriContent
from state.models import RequestEntry, ResponseEntry

Exchange = RequestEntry | ResponseEntry
_REFERENCE: Final = re.compile(r"agent-attachment:sha256/([0-9a-f]{64})\?bytes=([0-9]+)\Z")


@dataclass(frozen=True)
class Attachment:
    """Bytes, and the SHA-256 of them in hexadecimal."""

    sha256: str
    body: bytes


@dataclass(frozen=True)
class Detached:
    """An entry that refers to its large contents, and those."""

    entry: Exchange
    attachments: tuple[Attachment, ...]


def detached(entry: Exchange, most_bytes: int) -> Detached:
    """Return the entry with contents of more than `most_bytes` bytes taken out."""
    if not _large(entry, most_bytes):
        return Detached(entry, ())
    found: list[Attachment] = []

    def take_out(content: dict[str, Any]) -> dict[str, Any]:
        is_data = content.get("$type") == "data"
        body = _large_body(content.get("uri"), content.get("mediaType"), most_bytes) if is_data else None
        if body is None:
            return content
        found.append(Attachment(hashlib.sha256(body).hexdigest(), body))
        uri = f"agent-attachment:sha256/{found[-1].sha256}?bytes={len(body)}"
        return {**content, "$type": "uri", "uri": uri}

    return Detached(_with_contents(entry, take_out), tuple(found))


def attached(entry: Exchange, bodies: Mapping[str, bytes]) -> Exchange:
    """Return the entry with the bytes back in it; what is not among `bodies` becomes a text that says so."""

    def put_back(content: dict[str, Any]) -> dict[str, Any]:
        match = _REFERENCE.match(content.get("uri") or "") if content.get("$type") == "uri" else None
        if match is None:
            return content
        if match[1] not in bodies:
            return {"$type": "text", "text": f"[{content.get('mediaType')}, {match[2]} bytes: no longer kept]"}
        return {**content, "$type": "data", "uri": _data_uri(content.get("mediaType"), bodies[match[1]])}

    return _with_contents(entry, put_back)


def references(entry: Exchange) -> frozenset[str]:
    """Return the hashes of what the entry refers to."""
    uris = (content.uri or "" for content in _contents(entry) if type(content) is UriContent)
    return frozenset(match[1] for match in map(_REFERENCE.match, uris) if match is not None)


def detachable_bytes(entry: Exchange, most_bytes: int) -> int:
    """Return how many bytes of the stored entry `detached` takes out, about."""
    return sum(len(content.uri or "") for content in _large(entry, most_bytes))


def _large(entry: Exchange, most_bytes: int) -> list[DataContent]:
    data = [content for content in _contents(entry) if type(content) is DataContent]
    return [content for content in data if _large_body(content.uri, content.media_type, most_bytes) is not None]


def _contents(entry: Exchange) -> list[AnyContent]:
    return [content for message in entry.messages for content in message.contents]


def _with_contents(entry: Exchange, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Exchange:
    value = entry_value(entry)
    for message in value.get("messages", ()):
        message["contents"] = [change(content) for content in message.get("contents", ())]
    return cast(Exchange, read_entry(value))


def _large_body(uri: str | None, media_type: str | None, most_bytes: int) -> bytes | None:
    """Return the bytes of a data URI; None where they are few, or they and the media type are not all that it says."""
    if uri is None or len(uri) <= most_bytes:
        return None
    try:
        body = base64.b64decode(uri.partition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return body if len(body) > most_bytes and uri == _data_uri(media_type, body) else None


def _data_uri(media_type: str | None, body: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"
