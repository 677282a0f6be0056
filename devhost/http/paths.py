"""Request paths as the real host reads them before routing (host contract 2.1)."""

from __future__ import annotations

import re
from urllib.parse import unquote

_ENCODED_SLASH = re.compile(r"%2f", re.IGNORECASE)
_ENCODED_DOT = re.compile(r"%2e", re.IGNORECASE)


class BadPathError(Exception):
    """The path holds a NUL or characters that must be percent-encoded: 400 on the real host."""


def clean_path(raw_path: bytes) -> str:
    """Return the path as received, but with `.` and `..` segments resolved; it still holds its percent-codes."""
    if not raw_path.isascii() or b"%00" in raw_path:
        raise BadPathError
    path = raw_path.decode("ascii")
    return _without_dots(path) if "/." in path or "/%2" in path else path


def _without_dots(path: str) -> str:
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        plain = _ENCODED_DOT.sub(".", segment)
        if plain == "..":
            del kept[-1:]
        elif plain != ".":
            kept.append(segment)
    return "/" + "/".join(kept)


def decode_path(path: str) -> str:
    """Return the percent-decoded path; encoded slashes and codes that are no UTF-8 stay as they were sent."""
    if "%" not in path:
        return path
    try:
        return unquote(_ENCODED_SLASH.sub(lambda found: "%25" + found[0][1:], path), errors="strict")
    except UnicodeDecodeError:
        return path
