"""The offline model's answer in a wanted format: the plainest JSON value that the schema allows, words where it can.

It reads what people mostly write: types, properties, items, enum, const, anyOf and references. A schema that wants more
(a pattern, say) is not met, and a check of the answer finds out, as with any model.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from pydantic import BaseModel

DEEPEST = 12
MOST_VALUES = 10_000
MOST_CHARACTERS = 1_000_000


class TooLargeError(ValueError):
    """The format asks for more than there is room for."""


class _Room(Struct):
    """The rest of the allowance: a recursive schema can ask for more values than anybody sends."""

    values: int = MOST_VALUES
    characters: int = MOST_CHARACTERS

    def take(self, *, values: int = 0, characters: int = 0) -> None:
        self.values -= values
        self.characters -= characters
        if self.values < 0 or self.characters < 0:
            raise TooLargeError(
                f"The offline model fills a response_format with at most {MOST_VALUES:,} values and "
                f"{MOST_CHARACTERS:,} characters, and this one asks for more. Ask for less, or connect a real model."
            )


class Filling(Struct, frozen=True):
    """The input of a value: the words to use, the schema's root, and the remaining depth and size."""

    words: str
    root: Mapping[str, Any]
    levels: int = DEEPEST
    room: _Room = field(default_factory=_Room)

    def inner(self) -> "Filling":
        return Filling(self.words, self.root, self.levels - 1, self.room)


def in_format(words: str, response_format: Any) -> str:
    """`words` as they are, or as JSON text in the wanted format: OpenAI's forms, a schema, or a pydantic class."""
    schema = _wanted_schema(response_format)
    if schema is None:
        return words
    return json.dumps(value_of(schema, Filling(words, schema)), ensure_ascii=False)


def _wanted_schema(response_format: Any) -> Mapping[str, Any] | None:
    if isinstance(response_format, type) and issubclass(response_format, BaseModel):
        return response_format.model_json_schema()
    if not isinstance(response_format, Mapping) or response_format.get("type") == "text":
        return None
    if response_format.get("type") == "json_object":
        return {"properties": {"answer": {"type": "string"}}}
    return response_format["json_schema"]["schema"] if response_format.get("type") == "json_schema" else response_format


def value_of(schema: Any, filling: Filling) -> Any:
    """The simplest value: a given one, else the first allowed one, else one of the type."""
    filling.room.take(values=1)
    if not isinstance(schema, Mapping) or filling.levels == 0:
        return None
    for keyword, read in CHOICES.items():
        if keyword in schema:
            return read(schema[keyword], filling.inner())
    return TYPES[_type_of(schema)](schema, filling.inner())


def _type_of(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        kind = next(iter(kind), None)
    return str(kind) if kind in TYPES else "object" if "properties" in schema or "required" in schema else "string"


def _constant(value: Any, filling: Filling) -> Any:
    filling.room.take(characters=len(json.dumps(value)))
    return value


def _referred(reference: Any, filling: Filling) -> Any:
    filling.room.take(characters=len(str(reference)))
    place: Any = filling.root
    for name in str(reference).split("/")[1:]:
        place = place[name] if isinstance(place, Mapping) and name in place else None
    return value_of(place, filling)


def _first_mentioned(allowed: Sequence[Any], filling: Filling) -> Any:
    """The allowed value that the text names first, so that a message can decide; else the first."""
    filling.room.take(values=len(allowed))
    words = filling.words.lower()
    mentions = [(place, value) for value in allowed if (place := words.find(str(value).lower())) >= 0]
    return _constant(min(mentions, key=lambda item: item[0])[1] if mentions else allowed[0], filling)


def _merged(parts: Sequence[Any], filling: Filling) -> Any:
    values = [value_of(part, filling) for part in parts]
    objects = [value for value in values if isinstance(value, dict)]
    return {name: item for value in objects for name, item in value.items()} if objects else values[0]


def _an_object(schema: Mapping[str, Any], filling: Filling) -> dict[str, Any]:
    """Every property while there is room, near the end only those that must be: a schema may hold itself."""
    must = schema.get("required", ())
    properties = schema.get("properties", {})
    chosen = (
        [*properties, *(name for name in must if name not in properties)] if filling.levels > DEEPEST // 2 else must
    )
    return {name: value_of(properties.get(name, {}), filling) for name in chosen}


def _an_array(schema: Mapping[str, Any], filling: Filling) -> list[Any]:
    count = schema.get("minItems", 1 if filling.levels > DEEPEST // 2 else 0)
    return [value_of(schema.get("items", {}), filling) for _ in range(min(int(count), 100))]


def _a_string(schema: Mapping[str, Any], filling: Filling) -> str:
    written = FORMATS.get(str(schema.get("format")), filling.words)
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", MOST_CHARACTERS))
    filling.room.take(characters=max(least, min(len(written), most)))
    return written.ljust(least, ".")[:most]


def _a_number(schema: Mapping[str, Any], filling: Filling) -> Any:
    lowest = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    return min(lowest, schema.get("maximum", lowest))


FORMATS = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "offline@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
CHOICES: dict[str, Callable[[Any, Filling], Any]] = {
    "const": _constant,
    "enum": _first_mentioned,
    "default": _constant,
    "$ref": _referred,
    "anyOf": lambda schemas, filling: value_of(schemas[0], filling),
    "oneOf": lambda schemas, filling: value_of(schemas[0], filling),
    "allOf": _merged,
}
TYPES: dict[str, Callable[[Mapping[str, Any], Filling], Any]] = {
    "object": _an_object,
    "array": _an_array,
    "string": _a_string,
    "number": _a_number,
    "integer": _a_number,
    "boolean": lambda schema, filling: True,
    "null": lambda schema, filling: None,
}
