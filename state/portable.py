"""Which addresses, media types and texts every reader of the document takes: .NET's types are stricter than Python's.

.NET parses each address of a document and decodes each data URI when it reads or replays the thread, and an address
that it cannot parse makes the whole thread unreadable there. So what these functions refuse is refused over HTTP, and
is stored as `unknown` where a model or a tool made it.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from typing import Final

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_NEEDS_HOST: Final = frozenset({"http", "https", "ftp", "ws", "wss"})
_END_OF_AUTHORITY: Final = re.compile(r"[/\\?#]")
_USER: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:%-]*")
_LABEL: Final = re.compile(r"[\w-]{1,63}")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_MOST_HOST_CHARACTERS: Final = 255
_LAST_PORT: Final = 65535

_TOKEN: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MEDIA_TYPE: Final = re.compile(rf"{_TOKEN}/{_TOKEN}")
_PARAMETER: Final = re.compile(rf'{_TOKEN}=(?:{_TOKEN}|"[^"\\,;]*")')
_BEFORE_MEDIA_TYPE: Final = "data:"
_BEFORE_BODY: Final = ";base64"
_LEAP_SECOND: Final = re.compile(r"(T[0-9]{2}:[0-9]{2}:)60")
_HALF: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def is_address(text: str) -> bool:
    """Return whether a text is an absolute address that every reader can parse.

    A scheme, a colon and something after it. With `//`, or a scheme that has hosts, a host of labels or an IPv6
    address follows, and perhaps a port of at most 65535.
    """
    scheme, colon, rest = text.partition(":")
    if not colon or not rest or _SCHEME.fullmatch(scheme) is None or _HALF.search(text) is not None:
        return False
    if not rest.startswith("//"):
        return scheme.lower() not in _NEEDS_HOST
    authority = _END_OF_AUTHORITY.split(rest[2:], maxsplit=1)[0]
    if not authority:
        return scheme.lower() not in _NEEDS_HOST
    user, _, host_and_port = authority.rpartition("@")
    return _USER.fullmatch(user) is not None and _is_host_and_port(host_and_port)


def is_media_type(text: str) -> bool:
    """Return whether a text is a media type, such as `image/png` or `text/plain;charset=utf-8`."""
    own, *parameters = text.split(";")
    return _MEDIA_TYPE.fullmatch(own) is not None and all(_PARAMETER.fullmatch(part.strip()) for part in parameters)


def data_uri_parts(uri: str) -> tuple[str, str] | None:
    """Return the media type and the base64 text of `data:TYPE/SUBTYPE;NAME=VALUE;base64,TEXT`, None for another text.

    The base64 text is not checked. Each character is read a fixed number of times: an expression that tries
    every slash against every end takes minutes for a text of slashes.
    """
    head, comma, body = uri.partition(",")
    if not comma or not head.startswith(_BEFORE_MEDIA_TYPE) or not head.endswith(_BEFORE_BODY):
        return None
    media_type = head[len(_BEFORE_MEDIA_TYPE) : -len(_BEFORE_BODY)]
    if head.split() != [head] or not is_media_type(media_type):
        return None
    return media_type.partition(";")[0], body


def is_base64(text: str) -> bool:
    """Return whether a text is padded base64 and nothing else."""
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def is_data_uri(uri: str) -> bool:
    """Return whether a text is a data URI that every reader can decode."""
    parts = data_uri_parts(uri)
    return parts is not None and is_base64(parts[1])


def portable_text(text: str) -> str:
    """Return the text with U+FFFD for each half of a character that stands alone: no UTF-8 holds one."""
    return text if text.isascii() else _HALF.sub(_REPLACEMENT, text)


def moment(text: str) -> str:
    """Return an RFC 3339 time as .NET reads it: with capital letters, and without a leap second."""
    return _LEAP_SECOND.sub(r"\g<1>59", text.upper())


def _is_host_and_port(host_and_port: str) -> bool:
    if host_and_port.startswith("["):
        host, closing, rest = host_and_port[1:].partition("]")
        return bool(closing) and _is_ipv6(host) and (not rest or (rest.startswith(":") and _is_port(rest[1:])))
    host, colon, port = host_and_port.partition(":")
    labels = host.split(".")
    is_host = len(host) <= _MOST_HOST_CHARACTERS and all(map(_LABEL.fullmatch, labels))
    return is_host and (not colon or _is_port(port))


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_port(text: str) -> bool:
    return _PORT.fullmatch(text) is not None and int(text) <= _LAST_PORT
