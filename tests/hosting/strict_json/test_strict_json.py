"""Strict JSON from callers: all that is JSON, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosting.errors import HostingError
from hosting.strict_json.parsing import MAX_DEPTH, parse_json


@given(st.binary() | st.text().map(str.encode))
def test_strict_json_reads_or_refuses_and_nothing_else(body: bytes) -> None:
    assert status_of(body) in (200, 400)


def status_of(body: bytes) -> int:
    """Return the status of what a body is refused with, 200 when it is read."""
    try:
        parse_json(body)
    except HostingError as refused:
        return refused.status
    return 200


@pytest.mark.parametrize("depth", [1, MAX_DEPTH])
def test_nesting_is_counted_outside_of_strings(depth: int) -> None:
    text = '["' * depth + '"]' * depth
    body = json.dumps([text, '\\"[[[' * 100]).encode()

    assert parse_json(body) == [text, '\\"[[[' * 100]


def test_the_deepest_json_is_of_the_limit() -> None:
    assert parse_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    with pytest.raises(HostingError, match="nested deeper than 64"):
        parse_json(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    with pytest.raises(HostingError, match="nested deeper than 64"):
        parse_json(b"[" * 1_000_000)
