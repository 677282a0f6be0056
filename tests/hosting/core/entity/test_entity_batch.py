"""The entity batch protocol, as the host writes it."""

from __future__ import annotations

import json

import pytest

from hosting.core.entity.batch import UNREADABLE, parse_batch


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"\\"\\\\\\"text\\\\\\"\\""', "text"),
        ('{"a": 1}', {"a": 1}),
        (None, None),
        ("not json", UNREADABLE),
        ('"not json inside"', UNREADABLE),
        ("[" * 100_000, UNREADABLE),
    ],
)
@pytest.mark.parametrize(
    ("exists", "state", "read"), [(True, '{"a":1}', '{"a":1}'), (True, "null", None), (False, "{}", None)]
)
def test_inputs_are_read_through_their_encodings_and_the_stored_text_is_handed_on_as_it_is(
    text: str | None, value: object, exists: bool, state: str | None, read: str | None
) -> None:
    """Signals come doubly encoded, raw HTTP calls singly; `exists: true` with the text `null` is an empty thread."""
    operation = {"name": "run", "input": text, "isSignal": True}
    payload = {"self": {"name": "n", "key": "K"}, "exists": exists, "state": state, "batch": [operation]}

    batch = parse_batch(json.dumps(payload))

    assert (batch.operations[0].value, batch.state) == (value, read)
