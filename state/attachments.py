"""Pictures and files that an entry refers to instead of holding them, so that a conversation stays small.

A `data` content becomes a `text` content such as `[image/png, 20480 bytes]`, which every reader can show and send to a
model. Its property `attachment` is the reference: the SHA-256 of the bytes, how many they are, and their media type.
The same goes for the contents of a tool's result and of a run's own history, which stand under `agentFramework`.
Everything else that the content holds stays, so putting the bytes back gives the content that was. Data is only taken
out if its URI can be written again from its media type and bytes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from msgspec import Struct

from state.codec import read_entry
from state.contents import ATTACHMENT, DataContent, StoredContent, TextContent
from state.json_values import parse
from state.models import HISTORY, ITEMS, OURS, Entry, PlainEntry, RequestEntry, ResponseEntry, entry_text

Exchange = RequestEntry | ResponseEntry
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class _Names(NamedTuple):
    """How a content names its kind and its media type: in the stored form, or in the framework's own."""

    kind: str
    media_type: str


_STORED: Final = _Names("$type", "mediaType")
_OWN: Final = _Names("type", "media_type")


class Attachment(Struct, frozen=True):
    """Bytes, and the SHA-256 of them in hexadecimal."""

    sha256: str
    body: bytes


class Externalized(Struct, frozen=True):
    """An entry that refers to its large contents, and those."""

    entry: Exchange
    attachments: tuple[Attachment, ...]


def externalized(entry: Exchange, most_bytes: int) -> Externalized:
    """Return the entry with contents of more than `most_bytes` bytes taken out."""
    if not external_bytes(entry, most_bytes):
        return Externalized(entry, ())
    attachments: list[Attachment] = []

    def take_out(content: dict[str, Any]) -> dict[str, Any]:
        names = _names_of(content)
        if content.get(names.kind) != "data" or ATTACHMENT in content or "text" in content:
            return content
        media_type = content.get(names.media_type)
        body = _large_body(content.get("uri"), media_type, most_bytes)
        if body is None:
            return content
        attachments.append(Attachment(hashlib.sha256(body).hexdigest(), body))
        rest = {name: item for name, item in content.items() if name not in (names.kind, "uri", names.media_type)}
        reference = {"sha256": attachments[-1].sha256, "bytes": len(body), "mediaType": media_type}
        return {names.kind: "text", "text": f"[{media_type}, {len(body)} bytes]", ATTACHMENT: reference, **rest}

    return Externalized(_with_contents(entry, take_out), tuple(attachments))


def inlined(entry: Exchange, bodies: Mapping[str, bytes]) -> Exchange:
    """Return the entry with its bytes back; a missing one of `bodies` becomes a text that names it."""

    def inline(content: dict[str, Any]) -> dict[str, Any]:
        names = _names_of(content)
        reference = content.get(ATTACHMENT) if content.get(names.kind) == "text" else None
        sha256 = _referred(reference)
        if reference is None or sha256 is None:
            return content
        media_type = reference.get("mediaType")
        if sha256 not in bodies:
            return {names.kind: "text", "text": f"[{media_type}, {reference.get('bytes')} bytes: no longer kept]"}
        rest = {name: item for name, item in content.items() if name not in (names.kind, "text", ATTACHMENT)}
        return {names.kind: "data", "uri": _data_uri(media_type, bodies[sha256]), names.media_type: media_type, **rest}

    return _with_contents(entry, inline)


def references(entry: Entry | PlainEntry) -> frozenset[str]:
    """Return the hashes of the entry's attachments."""
    contents = (content for content in _contents(entry) if type(content) is TextContent)
    names = {_referred(content.unknown_properties().get(ATTACHMENT)) for content in contents}
    names |= {_referred(content.get(ATTACHMENT)) for content in _contents_of_ours(entry)}
    return frozenset(name for name in names if name is not None)


def references_in(state: object) -> frozenset[str]:
    """Return the hashes of the attachments that a session's state, or several, refers to: in dicts as contents do."""
    names: set[str] = set()
    waiting = [state]
    for value in waiting:  # grows meanwhile
        if isinstance(value, dict):
            if (name := _referred(value.get(ATTACHMENT))) is not None:
                names.add(name)
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return frozenset(names)


def _referred(reference: object) -> str | None:
    """Return the hash of a reference; a value of another writer counts as none."""
    name = reference.get("sha256") if isinstance(reference, dict) else None
    return name if isinstance(name, str) and is_hash(name) else None


def is_hash(name: str) -> bool:
    """Return whether that is the name of an attachment, which is its hash."""
    return _SHA256.fullmatch(name) is not None


def external_bytes(entry: Entry, most_bytes: int) -> int:
    """Return how many bytes of the stored entry `externalized` takes out, about."""
    data: list[tuple[Any, Any]] = [
        (content.uri, content.media_type) for content in _contents(entry) if type(content) is DataContent
    ]
    data += [
        (content.get("uri"), content.get(_names_of(content).media_type))
        for content in _contents_of_ours(entry)
        if content.get(_names_of(content).kind) == "data" and ATTACHMENT not in content
    ]
    return sum(len(uri or "") for uri, media_type in data if _large_body(uri, media_type, most_bytes) is not None)


def _contents(entry: Entry | PlainEntry) -> Iterator[StoredContent]:
    """Iterate over the contents of an entry; a plain one has none but texts that refer to nothing."""
    if type(entry) is RequestEntry or type(entry) is ResponseEntry:
        for message in entry.messages:
            yield from message.contents


def _contents_of_ours(entry: Entry | PlainEntry) -> Iterator[dict[str, Any]]:
    """Iterate over the contents that an entry has under `agentFramework`: of tools' results, and of its own history."""
    for content in _contents(entry):
        yield from _dicts(_member(content.unknown_properties().get(OURS), ITEMS))
    if type(entry) is ResponseEntry:
        for message in _dicts(_member(entry.unknown_properties().get(OURS), HISTORY)):
            for content_of_history in _dicts(message.get("contents")):
                yield content_of_history
                yield from _dicts(_member(content_of_history.get(OURS), ITEMS))


def _with_contents(entry: Exchange, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Exchange:
    value = parse(entry_text(entry))
    for message in (*_dicts(value.get("messages")), *_dicts(_member(value.get(OURS), HISTORY))):
        if isinstance(message.get("contents"), list):
            message["contents"] = [_changed(content, change) for content in message["contents"]]
    return cast(Exchange, read_entry(value))


def _changed(content: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return the content changed, or with its items changed where it is a tool's result that has some."""
    if not isinstance(content, dict):
        return content
    items = _member(content.get(OURS), ITEMS)
    if not isinstance(items, list):
        return change(content)
    changed = [change(item) if isinstance(item, dict) else item for item in items]
    return {**content, OURS: {**content[OURS], ITEMS: changed}}


def _names_of(content: Mapping[str, Any]) -> _Names:
    return _STORED if "$type" in content else _OWN


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _dicts(values: object) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _large_body(uri: object, media_type: object, most_bytes: int) -> bytes | None:
    """Return the bytes of a data URI; None where they are few, or it holds more than them and the media type."""
    if not isinstance(uri, str) or len(uri) <= most_bytes:
        return None
    try:
        body = base64.b64decode(uri.partition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return body if len(body) > most_bytes and uri == _data_uri(media_type, body) else None


def _data_uri(media_type: object, body: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"
