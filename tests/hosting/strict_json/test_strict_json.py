"""Strict JSON from callers, and values checked against schemas in bounded time."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

import pytest
from referencing.exceptions import Unresolvable

from hosting.strict_json.json_schema import UncheckableError, check_schema, value_fault

TWICE = {"properties": {"next": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}


def nested(levels: int) -> Any:
    """Return an object in an object, so many of them."""
    value: Any = None
    for _ in range(levels):
        value = {"next": value}
    return value


@pytest.mark.behaviour("http.patterns-take-linear-time")
def test_a_check_that_doubles_at_each_level_ends_when_its_time_is_over() -> None:
    """Such a schema looks harmless until the answer is deep."""
    with pytest.raises(UncheckableError, match=r"takes longer than 0\.05 s"):
        value_fault(TWICE, nested(60), 0.05)


@pytest.mark.behaviour("http.schemas-by-steps")
def test_a_machine_that_pauses_refuses_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a schema is taken hangs on the schema alone: its trial counts, and asks no clock."""
    seconds = itertools.count(1.0, 1.0)
    monkeypatch.setattr(time, "thread_time", lambda: next(seconds))

    check_schema({"anyOf": [{"enum": [f"paused {number}" for number in range(2000)]}, {"type": "null"}]})


@pytest.mark.parametrize("callers", range(0, 60, 2))
def test_a_check_that_does_not_end_is_refused_wherever_it_meets_the_recursion_limit(callers: int) -> None:
    """Under a fifth of all stacks that is within the Rust library, which raises a class that is no `Exception`."""

    def called_by(callers: int) -> str | None:
        return called_by(callers - 1) if callers else value_fault({"not": {"$ref": "#"}}, None, 5)

    with pytest.raises(UncheckableError, match="does not end"):
        called_by(callers)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ([1, True, "1", None, [1], {"a": 1}], True),
        ([1, 1.0], False),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], False),
        ([0, False], True),
        ([{"a": index} for index in range(20_000)], True),
    ],
)
def test_items_are_unique_as_json_schema_says(value: list[Any], fits: bool) -> None:
    """By value, numbers by their size; in no more time than the list is long."""
    assert (value_fault({"uniqueItems": True}, value, 5) is None) is fits


@pytest.mark.behaviour("http.references-are-not-fetched")
async def test_a_schema_that_was_never_accepted_is_not_fetched_either() -> None:
    """The border refuses such a reference; behind it stands a registry that holds nothing."""
    callers: list[str] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append("somebody")
        writer.close()

    async with await asyncio.start_server(note, "127.0.0.1", 0) as server:
        here = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"
        with pytest.raises(Unresolvable):
            await asyncio.to_thread(value_fault, {"$ref": here}, 1, 5)

    assert callers == []
