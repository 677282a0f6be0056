"""What a caller says of a file: its name, its media type, and which of its bytes are wanted."""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from urllib.parse import quote

from hosting.errors import InvalidFieldError
from hosting.features.uploads.refusals import InvalidRangeError
from hosting.features.uploads.routes import LONGEST_NAME

OCTETS = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,62}")
_HARMLESS = re.compile(
    r"(audio|video)/[a-z0-9.+-]+|image/(png|jpeg|gif|webp)|text/(plain|csv|markdown)|application/pdf"
)
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_NAMED = re.compile(r"[^\s.]")
_CONTROLS = ("Cc", "Cs", "Zl", "Zp")
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""With these a name is shown in another order than it has: `gnp.exe` as `exe.png`."""


def read_name(where: str, name: str) -> str:
    """Return the name of a file as it was given; raises `InvalidFieldError` that begins with `where` it stands."""
    shown = ascii(name[:80])
    if not _NAMED.search(name) or len(name) > LONGEST_NAME:
        raise InvalidFieldError(
            f"{where} is {shown}. A file's name has 1 to {LONGEST_NAME} characters, and more than dots and spaces."
        )
    if "/" in name or "\\" in name:
        raise InvalidFieldError(f"{where} is {shown}, which is a path. Send the file's name alone.")
    if any(character in _DIRECTIONS or unicodedata.category(character) in _CONTROLS for character in name):
        raise InvalidFieldError(f"{where} is {shown}, which has characters that cannot be seen. Send a name without.")
    return name


def read_media_type(given: str, name: str) -> str:
    """Return the media type that was given, else the one of the name's ending, without parameters."""
    media_type = given.partition(";")[0].strip().lower()
    if _MEDIA_TYPE.fullmatch(media_type) and media_type != OCTETS:
        return media_type
    return mimetypes.guess_type(name)[0] or OCTETS


def served_type(media_type: str) -> str:
    """Return the media type with which a file is sent: no browser may take it for a page or a script."""
    return media_type if _HARMLESS.fullmatch(media_type) else OCTETS


def disposition(name: str) -> str:
    """Return the header by which a browser saves the file under its name."""
    plain = "".join(character if " " <= character <= "~" and character not in '"%' else "_" for character in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def read_range(text: str | None, size: int) -> tuple[int, int] | None:
    """Return where the wanted bytes begin and end, None for all of them; raises `InvalidRangeError`.

    More than one range is none: a server may send all.
    """
    match = None if text is None else _RANGE.fullmatch(text.replace(" ", ""))
    if match is None or match[1] == match[2] == "":
        return None
    first, last = match[1], match[2]
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= end:
        raise InvalidRangeError(f"The range {text!r:.80} has no byte of the file, which has {size:,}.")
    return start, end
