"""What Microsoft's .NET package refuses of a stored document, by the rules of its State types (version 1.1.0).

Written from their public source: what `System.Text.Json` asks of each property when the document is read, and what the
contents' constructors ask when its messages are sent to a model again. Nothing of our own reader is used here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

MOST_LEVELS = 64
"""How deep `System.Text.Json` follows."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""How half of a character is written in JSON, and a whole one of two halves, too."""
_LONG = range(-(2**63), 2**63)
_SENDABLE = {"text", "data", "uri", "functionCall", "functionResult", "hostedFile", "hostedVectorStore"}
_HOST = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}")
_NAME = r"[\w!#$%&'*+.^`|~-]+"
_MEDIA_TYPE = re.compile(rf'{_NAME}/{_NAME}(?:\s*;\s*{_NAME}=(?:{_NAME}|"[^"]*"))*', re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,16})?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)

Faults = Iterator[str]


def faults(text: str, before: str | None = None) -> list[str]:
    """Return what is wrong with a document, each with its path; entries that stood in the document `before` are theirs
    who wrote them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return ["the document holds half of a character"]
    document = json.loads(text)
    known = json.loads(before)["data"].get("conversationHistory", ()) if before else ()
    found = [*_halves(document, "")] if _HALF.search(text) else []
    found += [] if _levels(document) <= MOST_LEVELS else ["it nests too deep"]
    for place, entry in enumerate(document["data"]["conversationHistory"]):
        if entry not in known:
            found += _entry(entry, f"entry {place}")
    return found


def _entry(entry: Mapping[str, Any], at: str) -> Faults:
    yield from _polymorphic(entry, at)
    yield from _texts(entry, at, required=("correlationId",), optional=("orchestrationId", "responseType"))
    if entry["$type"] not in ("request", "response"):
        yield f"{at}: the kind {entry['$type']!r} is not known"
    if not _is_time(entry.get("createdAt")):
        yield f"{at}: createdAt is {entry.get('createdAt')!r}"
    if "orchestrationId" in entry and entry["orchestrationId"] is None:
        yield f"{at}: orchestrationId is null, which drafts of 1.2.0 refuse"
    yield from _usage(entry.get("usage"), at)
    for number, message in enumerate(entry.get("messages", ())):
        yield from _message(message, f"{at} message {number}")


def _message(message: Mapping[str, Any], at: str) -> Faults:
    yield from _texts(message, at, required=("role",), optional=("authorName",))
    if message.get("createdAt") is not None and not _is_time(message["createdAt"]):
        yield f"{at}: createdAt is {message['createdAt']!r}"
    contents = message.get("contents", [])
    if message.get("role") == "user" and not any(content.get("$type") in _SENDABLE for content in contents):
        yield f"{at}: a message of the user that holds nothing to send"
    for number, content in enumerate(contents):
        yield from _content(content, f"{at} content {number}")


def _content(content: Mapping[str, Any], at: str) -> Faults:
    yield from _polymorphic(content, at)
    check = _CONTENTS.get(content["$type"])
    if check is None:
        yield f"{at}: the kind {content['$type']!r} is not known"
    else:
        yield from check(content, at)


def _text(content: Mapping[str, Any], at: str) -> Faults:
    if "text" not in content:
        yield f"{at}: no text"
    yield from _texts(content, at, optional=("text",))


def _data(content: Mapping[str, Any], at: str) -> Faults:
    yield from _texts(content, at, required=("uri",), optional=("mediaType",))
    head, comma, body = str(content.get("uri")).partition(",")
    media_type = head.removeprefix("data:").removesuffix(";base64")
    if not (comma and head.startswith("data:") and head.endswith(";base64") and _MEDIA_TYPE.fullmatch(media_type)):
        yield f"{at}: the data URI begins with {head!r:.80}"
    try:
        base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        yield f"{at}: the data URI does not end in base64"
    if content.get("mediaType") is not None and not _MEDIA_TYPE.fullmatch(str(content["mediaType"])):
        yield f"{at}: the media type {content['mediaType']!r:.80}"


def _uri(content: Mapping[str, Any], at: str) -> Faults:
    yield from _texts(content, at, required=("uri", "mediaType"))
    if not _MEDIA_TYPE.fullmatch(str(content.get("mediaType"))):
        yield f"{at}: the media type {content.get('mediaType')!r:.80}"
    try:
        parts = urlsplit(str(content.get("uri")))
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    is_host = host is not None and (":" in host or _HOST.fullmatch(host) is not None)
    if not parts.scheme or (parts.netloc and not is_host) or (parts.scheme in ("http", "https") and not is_host):
        yield f"{at}: the address {content.get('uri')!r:.80}"
    elif port is None and parts.netloc.endswith(":"):
        yield f"{at}: the port of {content.get('uri')!r:.80}"


def _call(content: Mapping[str, Any], at: str) -> Faults:
    yield from _texts(content, at, required=("callId", "name"))
    if not isinstance(content.get("arguments"), dict):
        yield f"{at}: arguments are {content.get('arguments')!r:.80}"


def _unknown(content: Mapping[str, Any], at: str) -> Faults:
    value = content.get("content")
    if not isinstance(value, dict):
        yield f"{at}: an unknown content is no object"
        return
    annotations = value.get("annotations") or []
    for each in [value, *annotations] if isinstance(annotations, list) else [value, annotations]:
        if not isinstance(each, dict) or any(name.startswith("$") for name in each):
            yield f"{at}: an unknown content with a name that begins with $"


def _of(required: Sequence[str] = (), optional: Sequence[str] = ()) -> Callable[[Mapping[str, Any], str], Faults]:
    return lambda content, at: _texts(content, at, required, optional)


_CONTENTS: Mapping[str, Callable[[Mapping[str, Any], str], Faults]] = {
    "text": _text,
    "data": _data,
    "uri": _uri,
    "functionCall": _call,
    "functionResult": _of(("callId",)),
    "hostedFile": _of(("fileId",)),
    "hostedVectorStore": _of(("vectorStoreId",)),
    "error": _of((), ("message", "errorCode", "details")),
    "reasoning": _of((), ("text",)),
    "usage": lambda content, at: _usage(content.get("usage"), at),
    "unknown": _unknown,
}


def _polymorphic(value: Mapping[str, Any], at: str) -> Faults:
    if next(iter(value), None) != "$type" or not isinstance(value["$type"], str):
        yield f"{at}: $type does not come first"
    if names := [name for name in value if name.startswith("$") and name != "$type"]:
        yield f"{at}: {names} begin with $"


def _texts(value: Mapping[str, Any], at: str, required: Sequence[str] = (), optional: Sequence[str] = ()) -> Faults:
    for name in required:
        if not isinstance(value.get(name), str):
            yield f"{at}: {name} is {value.get(name)!r:.80}"
    for name in optional:
        if not isinstance(value.get(name) or "", str):
            yield f"{at}: {name} is {value[name]!r:.80}"


def _usage(usage: Any, at: str) -> Faults:
    for name in ("inputTokenCount", "outputTokenCount", "totalTokenCount"):
        count = (usage or {}).get(name)
        if count is not None and (type(count) is not int or count not in _LONG or count < 0):
            yield f"{at}: {name} is {count!r:.80}"


def _is_time(value: object) -> bool:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(re.sub(r"\.\d+", "", value).replace("Z", "+00:00"))
    except ValueError:
        return False
    return True


def _halves(value: Any, at: str) -> Faults:
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        yield f"{at}: half of a character"
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _halves(name, f"{at} a name")
            yield from _halves(item, f"{at}.{name}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _halves(item, f"{at}[{place}]")


def _levels(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    items = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_levels, items), default=0)
