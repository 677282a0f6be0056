"""The JSON of protobuf: a member goes by either of its names, and null is absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hosting.core.request.fields import read_flag, read_text
from hosting.errors import InvalidFieldError
from hosting.strict_json.parsing import json_type


def member_object(where: str, value: object) -> dict[str, Any]:
    """Return an object's members that are not null, by the names of JSON; raises `InvalidFieldError`."""
    if not isinstance(value, dict):
        raise InvalidFieldError(f"{where} is a JSON {json_type(value)}. Send an object.")
    return {_json_name(name): member for name, member in value.items() if member is not None}


def _json_name(name: str) -> str:
    """Return a member's name as JSON has it, also for the spelling of the protocol's own definition."""
    first, *rest = parts = name.split("_")
    return first + "".join(part[0].upper() + part[1:] for part in rest) if all(parts) else name


def member_text(fields: Mapping[str, Any], where: str, name: str) -> str | None:
    """Return a text, None for an empty or absent one; raises `InvalidFieldError`."""
    return read_text(f"{where}.{name}", fields.get(name, "")) or None


def member_flag(fields: Mapping[str, Any], name: str) -> bool:
    """Return a member that is true or false, false for an absent one; raises `InvalidFieldError`."""
    return read_flag(name, fields.get(name, False))


def member_number(fields: Mapping[str, Any], name: str, least: int = 0, most: int = 2**31 - 1) -> int | None:
    """Return a whole number within the bounds, None for an absent one; raises `InvalidFieldError`."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidFieldError(f"{name} is {str(value)[:40]}. Send a whole number from {least} to {most}.")
    return value
