"""The entity batch protocol, read and written."""

import json
from typing import Any

import pytest

from hosting.core.entity.batch import UNREADABLE, parse_batch


def batch(**item: Any) -> str:
    """Return a batch of one operation as the host sends it."""
    return json.dumps({"self": {"name": "dafx-joker", "key": "K"}, "exists": False, "state": None, "batch": [item]})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"\\"\\\\\\"text\\\\\\"\\""', "text"),
        ('{"a": 1}', {"a": 1}),
        ("3", 3),
        (None, None),
        ("not json", UNREADABLE),
        ('"not json inside"', UNREADABLE),
        ("[" * 100_000, UNREADABLE),
    ],
)
def test_an_operations_input_is_read_through_its_encodings(text: str | None, value: object) -> None:
    """Signals come doubly encoded, raw HTTP calls singly, and what is no JSON is marked as such."""
    assert parse_batch(batch(name="run", input=text, isSignal=True)).operations[0].value == value


@pytest.mark.parametrize(
    ("exists", "state", "read"),
    [
        (True, '{"a":1}', '{"a":1}'),
        (True, "null", None),
        (True, None, None),
        (False, "null", None),
        (False, "{}", None),
    ],
)
def test_the_stored_text_is_handed_on_as_it_is(exists: bool, state: str | None, read: str | None) -> None:
    """`exists: true` with the text `null` is an empty thread."""
    payload = {"self": {"name": "n", "key": "K"}, "exists": exists, "state": state, "batch": []}

    assert parse_batch(json.dumps(payload)).state == read
