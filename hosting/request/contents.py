"""The contents of a request: texts, pictures and files in the stored form, checked against what the model takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from hosting.errors import ContentTooLargeError, InvalidFieldError, UnsupportedContentError
from hosting.request.contents_schema import LONGEST_REFERENCE, MEDIA_TYPE, MOST_CONTENTS
from hosting.request.limits import Limits
from hosting.request.model_inputs import FILE
from hosting.request.strict_json import json_type, refuse_lone_surrogates
from state.errors import BadContentError
from state.given import checked_content

_MEDIA_TYPE = re.compile(MEDIA_TYPE)
_VISIBLE = re.compile(r"[\x21-\x7e]+\Z")


def read_contents(value: object, limits: Limits) -> tuple[dict[str, Any], ...]:
    """Return the contents in stored form, media types in lower case; raise a `HostingError` that names the index."""
    if not isinstance(value, list):
        raise InvalidFieldError(f"The field 'contents' is a JSON {json_type(value)}. Send an array of contents.")
    if len(value) > MOST_CONTENTS:
        raise InvalidFieldError(f"The field 'contents' has {len(value)} items; the limit is {MOST_CONTENTS}.")
    refuse_lone_surrogates(value)
    return tuple(_read_content(index, item, limits) for index, item in enumerate(value))


def _read_content(index: int, value: object, limits: Limits) -> dict[str, Any]:
    try:
        content = checked_content(index, value)
    except BadContentError as error:
        raise InvalidFieldError(f"The field 'contents' is not valid: {error}") from None
    return _CHECKS[content["$type"]](index, content, limits)


def _text(index: int, content: dict[str, Any], limits: Limits) -> dict[str, Any]:
    return content


def _data(index: int, content: dict[str, Any], limits: Limits) -> dict[str, Any]:
    size = len(content["uri"])
    if size > limits.data_bytes:
        raise ContentTooLargeError(
            f"contents[{index}] has {size:,} bytes as a data URI; the limit is {limits.data_bytes:,}. Send a smaller "
            "one, or a uri."
        )
    media_type = _media_type(index, content)
    head = content["uri"][5:].lower()
    if not head.startswith((f"{media_type};", f"{media_type},")):
        raise InvalidFieldError(f"contents[{index}].mediaType is {media_type!r}, and its data URI says another.")
    return _taken(index, {**content, "mediaType": media_type}, media_type, limits)


def _uri(index: int, content: dict[str, Any], limits: Limits) -> dict[str, Any]:
    if not _is_web_address(content["uri"]):
        raise InvalidFieldError(
            f"contents[{index}].uri is {content['uri']!r:.80}. Send an http or https address of at most "
            f"{LONGEST_REFERENCE} characters; the model's provider fetches it, this app does not."
        )
    media_type = _media_type(index, content)
    if not media_type.startswith("image/"):
        raise UnsupportedContentError(
            f"contents[{index}] refers to {media_type}: only pictures are taken by reference. Send it as data."
        )
    return _taken(index, {**content, "mediaType": media_type}, media_type, limits)


def _is_web_address(uri: str) -> bool:
    if len(uri) > LONGEST_REFERENCE or not _VISIBLE.match(uri):
        return False
    try:
        parts = urlsplit(uri)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _file(index: int, content: dict[str, Any], limits: Limits) -> dict[str, Any]:
    if len(content["fileId"]) > LONGEST_REFERENCE:
        raise InvalidFieldError(f"contents[{index}].fileId has more than {LONGEST_REFERENCE} characters.")
    return _taken(index, content, FILE, limits)


def _media_type(index: int, content: Mapping[str, Any]) -> str:
    media_type = str(content["mediaType"]).lower()
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise InvalidFieldError(f"contents[{index}].mediaType is {media_type!r:.80}. Send one like image/png.")
    return media_type


def _taken(index: int, content: dict[str, Any], name: str, limits: Limits) -> dict[str, Any]:
    if not limits.inputs.take(name):
        raise UnsupportedContentError(
            f"contents[{index}] is {name}, and the model of this agent takes {limits.inputs} only."
        )
    return content


_CHECKS: dict[str, Callable[[int, dict[str, Any], Limits], dict[str, Any]]] = {
    "text": _text,
    "data": _data,
    "uri": _uri,
    "hostedFile": _file,
}
