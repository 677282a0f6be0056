"""`response_format` as Python code gives it: a pydantic model, or one of the forms that HTTP takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from hosting.errors import InvalidFieldError, InvalidOutputError
from hosting.request.response_format import read_response_format


@dataclass(frozen=True)
class WantedFormat:
    """What is sent with the request, and the model that its value becomes (None: the JSON value itself)."""

    sent: dict[str, Any] | None = None
    model: type[BaseModel] | None = None

    def value(self, plain: Any) -> Any:
        """Return the value of an answer that fits the schema; `InvalidOutputError` when the model takes less."""
        if self.model is None:
            return plain
        try:
            return self.model.model_validate_json(json.dumps(plain))
        except ValidationError as error:
            places = ", ".join(sorted({".".join(map(str, fault["loc"])) or "the value" for fault in error.errors()}))
            raise InvalidOutputError(f"The answer fits the schema and not {self.model.__name__}: {places}.") from None


def wanted_format(given: object) -> WantedFormat:
    """Return the format; raise `InvalidFieldError` for what is none or cannot be sent."""
    if given is None:
        return WantedFormat()
    if isinstance(given, type) and issubclass(given, BaseModel):
        return WantedFormat(_checked(_schema(given)), given)
    if isinstance(given, Mapping):
        return WantedFormat(_checked(dict(given)))
    raise InvalidFieldError(
        f"response_format is {given!r:.80}. Give a pydantic model class, a JSON Schema, or {{'type': 'json_object'}}."
    )


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise InvalidFieldError(
            f"response_format {model.__name__} has no JSON Schema: {error.message} Give a model of plain fields."
        ) from None


def _checked(value: dict[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidFieldError(
            f"response_format cannot be sent as JSON: {error}. Give a JSON Schema of plain values."
        ) from None
    read_response_format(plain)
    return plain
