"""Pictures and files that an entry refers to instead of holding them, so that a conversation stays small.

A `data` content becomes a `text` content such as `[image/png, 20480 bytes]`, which every reader can show and send to a
model. Its property `attachment` is the reference: the SHA-256 of the bytes, how many they are, and their media type.
Everything else that the content holds stays, so putting the bytes back gives the content that was. Only data whose URI
can be written again from its media type and bytes is taken out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from state.codec import read_entry
from state.contents import ATTACHMENT, DataContent, StoredContent, TextContent
from state.json_values import parse
from state.models import Entry, PlainEntry, RequestEntry, ResponseEntry, entry_text

Exchange = RequestEntry | ResponseEntry
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_OF_REFERENCE: Final = frozenset({"$type", "text", ATTACHMENT})


@dataclass(frozen=True)
class Attachment:
    """Bytes, and the SHA-256 of them in hexadecimal."""

    sha256: str
    body: bytes


@dataclass(frozen=True)
class Externalized:
    """An entry that refers to its large contents, and those."""

    entry: Exchange
    attachments: tuple[Attachment, ...]


def externalized(entry: Exchange, most_bytes: int) -> Externalized:
    """Return the entry with contents of more than `most_bytes` bytes taken out."""
    if not external_bytes(entry, most_bytes):
        return Externalized(entry, ())
    found: list[Attachment] = []

    def take_out(content: dict[str, Any]) -> dict[str, Any]:
        is_data = content.get("$type") == "data" and content.keys().isdisjoint(_OF_REFERENCE - {"$type"})
        body = _large_body(content.get("uri"), content.get("mediaType"), most_bytes) if is_data else None
        if body is None:
            return content
        found.append(Attachment(hashlib.sha256(body).hexdigest(), body))
        media_type = content["mediaType"]
        rest = {name: item for name, item in content.items() if name not in ("$type", "uri", "mediaType")}
        reference = {"sha256": found[-1].sha256, "bytes": len(body), "mediaType": media_type}
        return {"$type": "text", "text": f"[{media_type}, {len(body)} bytes]", ATTACHMENT: reference, **rest}

    return Externalized(_with_contents(entry, take_out), tuple(found))


def inlined(entry: Exchange, bodies: Mapping[str, bytes]) -> Exchange:
    """Return the entry with the bytes back in it; what is not among `bodies` becomes a text that names it."""

    def inline(content: dict[str, Any]) -> dict[str, Any]:
        reference = content.get(ATTACHMENT) if content.get("$type") == "text" else None
        sha256 = _referred(reference)
        if reference is None or sha256 is None:
            return content
        media_type = reference.get("mediaType")
        if sha256 not in bodies:
            return {"$type": "text", "text": f"[{media_type}, {reference.get('bytes')} bytes: no longer kept]"}
        rest = {name: item for name, item in content.items() if name not in _OF_REFERENCE}
        return {"$type": "data", "uri": _data_uri(media_type, bodies[sha256]), "mediaType": media_type, **rest}

    return _with_contents(entry, inline)


def references(entry: Entry | PlainEntry) -> frozenset[str]:
    """Return the hashes of what the entry refers to."""
    contents = (content for content in _contents(entry) if type(content) is TextContent)
    names = (_referred(content.unknown_properties().get(ATTACHMENT)) for content in contents)
    return frozenset(name for name in names if name is not None)


def _referred(reference: object) -> str | None:
    """Return the hash of a reference; a value of another writer counts as none."""
    name = reference.get("sha256") if isinstance(reference, dict) else None
    return name if isinstance(name, str) and _SHA256.fullmatch(name) else None


def external_bytes(entry: Entry, most_bytes: int) -> int:
    """Return how many bytes of the stored entry `externalized` takes out, about."""
    data = (content for content in _contents(entry) if type(content) is DataContent)
    large = (one for one in data if _large_body(one.uri, one.media_type, most_bytes) is not None)
    return sum(len(content.uri or "") for content in large)


def _contents(entry: Entry | PlainEntry) -> Iterator[StoredContent]:
    """Iterate over the contents of an entry; a plain one has none but texts that refer to nothing."""
    if type(entry) is RequestEntry or type(entry) is ResponseEntry:
        for message in entry.messages:
            yield from message.contents


def _with_contents(entry: Exchange, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Exchange:
    value = parse(entry_text(entry))
    for message in value.get("messages", ()):
        message["contents"] = [change(content) for content in message.get("contents", ())]
    return cast(Exchange, read_entry(value))


def _large_body(uri: str | None, media_type: str | None, most_bytes: int) -> bytes | None:
    """Return the bytes of a data URI; None where they are few, or it holds more than them and the media type."""
    if uri is None or len(uri) <= most_bytes:
        return None
    try:
        body = base64.b64decode(uri.partition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return body if len(body) > most_bytes and uri == _data_uri(media_type, body) else None


def _data_uri(media_type: str | None, body: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"
