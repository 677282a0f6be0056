"""Contents that a caller gives for a new message: few kinds, every property checked, each refusal naming its place."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from state.errors import BadContentError

_BEFORE_MEDIA_TYPE: Final = "data:"
_BEFORE_TEXT: Final = ";base64"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.+", re.DOTALL)


@dataclass(frozen=True)
class Kind:
    """The properties of one kind of content, and what its main property must hold beyond being a string."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    check: Callable[[str], str | None]  # the main (first) property's value -> what is wrong with it


def checked_content(index: int, value: object) -> dict[str, Any]:
    """Return the content in stored form, `mediaType` filled in where a data URI says it.

    Raises `BadContentError`, which names `index`, the property and what to do.
    """
    if not isinstance(value, dict):
        raise BadContentError(index, "", 'must be an object like {"$type": "text", "text": "..."}.')
    kind = _kind(index, value)
    _refuse_unknown_properties(index, value, kind)
    for name in (*kind.required, *kind.optional):
        _require_string(index, value, name, optional=name in kind.optional)
    main = kind.required[0]
    if fault := kind.check(value[main]):
        raise BadContentError(index, main, fault)
    return {"mediaType": _media_type(value), **value} if value["$type"] == "data" else value


def _kind(index: int, value: Mapping[str, Any]) -> Kind:
    name = value.get("$type")
    if not isinstance(name, str) or name not in KINDS:
        raise BadContentError(index, "$type", f"is {name!r:.60}. Use one of {', '.join(KINDS)}.")
    return KINDS[name]


def _refuse_unknown_properties(index: int, value: Mapping[str, Any], kind: Kind) -> None:
    known = ("$type", *kind.required, *kind.optional)
    for name in value:
        if name not in known:
            raise BadContentError(index, name[:60], f"is not known for {value['$type']}. Use {', '.join(known)}.")


def _require_string(index: int, value: Mapping[str, Any], name: str, *, optional: bool) -> None:
    if optional and name not in value:
        return
    if not isinstance(value.get(name), str) or not value[name].strip():
        raise BadContentError(index, name, "must be a string that is not blank.")


def _media_type(value: Mapping[str, Any]) -> str:
    parts = _data_uri_parts(value["uri"])
    return parts[0] if parts else ""


def _data_uri_parts(uri: str) -> tuple[str, str] | None:
    """Return the media type and the base64 text of `data:TYPE/SUBTYPE;NAME=VALUE;base64,TEXT`, None for another text.

    By its first comma and its semicolons, each character looked at a fixed number of times: an expression that tries
    every slash against every end takes minutes for a text of slashes.
    """
    head, comma, text = uri.partition(",")
    if (
        not comma
        or not head.startswith(_BEFORE_MEDIA_TYPE)
        or not head.endswith(_BEFORE_TEXT)
        or head.split() != [head]
    ):
        return None
    media_type, *parameters = head[len(_BEFORE_MEDIA_TYPE) : -len(_BEFORE_TEXT)].split(";")
    is_one = "/" in media_type[1:-1] and all(parameters)
    return (media_type, text) if is_one else None


def _fault_of_data_uri(uri: str) -> str | None:
    parts = _data_uri_parts(uri)
    if parts is None:
        return "must look like data:image/png;base64,iVBOR..."
    try:
        base64.b64decode(parts[1], validate=True)
    except (binascii.Error, ValueError):
        return "is not valid base64 after the comma."
    return None


def _fault_of_uri(uri: str) -> str | None:
    if uri.startswith("data:"):
        return 'is a data URI. Give it with "$type": "data".'
    return None if _SCHEME.fullmatch(uri) else "must be an absolute URI such as https://example.com/image.png."


def _no_fault(_: str) -> None:
    return None


KINDS: Final[Mapping[str, Kind]] = {
    "text": Kind(("text",), (), _no_fault),
    "data": Kind(("uri",), ("mediaType",), _fault_of_data_uri),
    "uri": Kind(("uri", "mediaType"), (), _fault_of_uri),
    "hostedFile": Kind(("fileId",), (), _no_fault),
}
