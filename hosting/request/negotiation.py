"""Which representation an answer gets, from the caller's headers (http-api.md section 2)."""

from __future__ import annotations

from typing import Literal

from hosting.errors import UnsupportedMediaTypeError

Form = Literal["json", "text", "events"]

_JSON = ("application/json", "application/problem+json")
_OPAQUE = ("multipart/", "image/", "audio/", "video/")
_UTF8 = ("utf-8", "utf8", "us-ascii", "ascii", "")


def body_form(content_type: str) -> Form:
    """Tell how a body is read: JSON for `application/json` and `+json`, text for whatever else may be text.

    Raises `UnsupportedMediaTypeError` for media that cannot be a message and for a charset other than UTF-8.
    """
    media, _, parameters = content_type.partition(";")
    media = media.strip().lower()
    if media.startswith(_OPAQUE):
        raise UnsupportedMediaTypeError(
            f"A body of type {media!r} cannot be a message. Send application/json or text/plain."
        )
    charset = _parameter(parameters, "charset")
    if charset not in _UTF8:
        raise UnsupportedMediaTypeError(f"The charset {charset!r} is not supported. Send UTF-8.")
    return "json" if media == "application/json" or media.endswith("+json") else "text"


def answer_form(accept: str, otherwise: Form) -> Form:
    """Tell how the answer is written: what `Accept` prefers; `otherwise` without one, or where it does not choose."""
    ranges = _ranges(accept)
    if not ranges:
        return otherwise
    json_quality = max(_quality(ranges, media) for media in _JSON)
    text_quality = _quality(ranges, "text/plain")
    if _quality(ranges, "text/event-stream") > max(json_quality, text_quality):
        return "events"
    if json_quality == text_quality:
        return otherwise if json_quality else "text"
    return "json" if json_quality > text_quality else "text"


def _ranges(accept: str) -> dict[str, float]:
    ranges: dict[str, float] = {}
    for item in accept.split(","):
        media, _, parameters = item.partition(";")
        if media.strip():
            ranges[media.strip().lower()] = _number(_parameter(parameters, "q"))
    return ranges


def _quality(ranges: dict[str, float], media: str) -> float:
    kind = media.partition("/")[0]
    for candidate in (media, f"{kind}/*", "*/*"):
        if candidate in ranges:
            return ranges[candidate]
    return 0.0


def _parameter(parameters: str, name: str) -> str:
    for item in parameters.split(";"):
        key, _, value = item.partition("=")
        if key.strip().lower() == name:
            return value.strip().strip('"').lower()
    return ""


def _number(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0) if text else 1.0
    except ValueError:
        return 0.0
