"""The envelope that a function with result schema answers; its contents are JSON texts (host contract 5.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from azure.functions.meta import Datum

Envelope = Mapping[str, object]


def read_envelope(datum: Datum) -> Envelope:
    """Return the envelope that the function answered; raise `ValueError` or `TypeError` when it is none."""
    return json_object(json.loads(datum.value))


def nested(envelope: Envelope, key: str) -> object:
    """Return the JSON value that the envelope holds as text; raise `ValueError` when it is no such text."""
    text = envelope.get(key)
    if not isinstance(text, str):
        raise ValueError(f"'{key}' must be JSON text")
    value: object = json.loads(text)
    return value


def json_object(value: object) -> Mapping[str, object]:
    """Return the value when it is a JSON object; else raise `ValueError`."""
    if not isinstance(value, dict):
        raise ValueError("a JSON object is wanted")
    return value


def json_objects(value: object) -> list[Mapping[str, object]]:
    """Return the value when it is a list of JSON objects that is not empty; else raise `ValueError`."""
    if not isinstance(value, list) or not value:
        raise ValueError("the content must be a list with at least one object")
    return [json_object(item) for item in value]
