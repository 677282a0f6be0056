"""JSON texts inside of binding declarations, refused at start-up when they are not what they must be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from devhost.errors import FunctionLoadError


def declared_object(function_name: str, key: str, text: object) -> Mapping[str, object]:
    """Return the object that the binding's value `key` holds as JSON text."""
    value = _parsed(function_name, key, text)
    if not isinstance(value, dict):
        raise FunctionLoadError(function_name, f"its '{key}' must be a JSON object.")
    return value


def declared_metadata(function_name: str, properties: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return what lists show as `_meta`, None when the binding declares no metadata."""
    text = properties.get("metadata")
    return declared_object(function_name, "metadata", text) if text else None


def declared_objects(function_name: str, key: str, text: object) -> Sequence[Mapping[str, object]]:
    """Return the objects that the binding's value `key` holds as a JSON list, none when it is absent or empty."""
    items = _parsed(function_name, key, text) if text else []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise FunctionLoadError(function_name, f"its '{key}' must be a JSON list of objects.")
    return items


def _parsed(function_name: str, key: str, text: object) -> object:
    try:
        value: object = json.loads(str(text))
    except ValueError as error:
        raise FunctionLoadError(function_name, f"its '{key}' is not valid JSON: {error}.") from error
    return value
