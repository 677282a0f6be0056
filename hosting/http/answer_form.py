"""The form of an answer: JSON, text or events, as the request's `Accept` prefers it."""

from __future__ import annotations

from typing import Literal

Form = Literal["json", "text", "events"]
_JSON = ("application/json", "application/problem+json")


def answer_form(accept: str, otherwise: Form) -> Form:
    """Return the form of the answer that `Accept` prefers; `otherwise` if it is missing or leaves the choice."""
    qualities: dict[str, float] = {}
    for item in accept.split(","):
        media, _, parameters = item.partition(";")
        if media.strip():
            try:
                quality = float(media_parameter(parameters, "q") or 1)
            except ValueError:
                quality = 0.0
            qualities[media.strip().lower()] = min(max(quality, 0.0), 1.0)
    if not qualities:
        return otherwise

    def quality_of(media: str, any_of_kind: str) -> float:
        return qualities.get(media, qualities.get(any_of_kind, qualities.get("*/*", 0.0)))

    json_quality = max(quality_of(media, "application/*") for media in _JSON)
    text_quality = quality_of("text/plain", "text/*")
    if quality_of("text/event-stream", "text/*") > max(json_quality, text_quality):
        return "events"
    if json_quality == text_quality:
        return otherwise if json_quality else "text"
    return "json" if json_quality > text_quality else "text"


def media_parameter(parameters: str, name: str) -> str:
    """Return the value of a media type's parameter in lower case, without its quotes; nothing when it has none."""
    for item in parameters.split(";"):
        key, _, value = item.partition("=")
        if key.strip().lower() == name:
            return value.strip().strip('"').lower()
    return ""
