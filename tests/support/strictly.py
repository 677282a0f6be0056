"""The official SDK's own models, held strictly: nothing that they do not know, and nothing missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import pydantic
from openai.types.responses import Response, ResponseStreamEvent

T = TypeVar("T")


def strictly(kind: type[T], value: Any) -> T:
    """Return the value as the SDK's type; fails for a member that the type does not have, or lacks."""
    read = adapter(kind).validate_python(value)
    assert list(unknown(read)) == []
    return read  # type: ignore[no-any-return]


@cache
def adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    """Return what reads the type; the SDK's are large."""
    return pydantic.TypeAdapter(kind)


def response(value: Any) -> Response:
    return strictly(Response, value)


def event(value: Any) -> Any:
    return strictly(ResponseStreamEvent, value)  # type: ignore[arg-type]


def unknown(value: Any, where: str = "") -> Iterator[str]:
    """Iterate over the members that the models do not know."""
    if isinstance(value, pydantic.BaseModel):
        yield from (f"{where}.{name}" for name in value.__pydantic_extra__ or {})
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from unknown(item, f"{where}[]")


def events_of(text: str) -> list[Any]:
    """Return the events of a stream, each held strictly."""
    return [event(json.loads(line[6:])) for line in text.splitlines() if line.startswith("data: ")]
