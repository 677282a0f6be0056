"""How often a turn parses: counted by the interpreter's own profile hook, with nothing put in the place of anything."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Final

import pytest

from state.codec import read
from state.models import plain_entry, validated_entry
from tests.support.bench import Bench

MAKERS: Final[frozenset[CodeType]] = frozenset({validated_entry.__code__, plain_entry.__code__})


class ParseCounter:
    """Counts the documents that are read and the entries made of JSON, on every thread that starts under it."""

    def __init__(self) -> None:
        self.documents = 0
        self.entries: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, made: Any) -> None:
        if event == "return" and frame.f_code is read.__code__:
            self.documents += 1
        if event == "return" and frame.f_code in MAKERS and made is not None:
            kind = type(made).__name__.removeprefix("Plain").removesuffix("Entry")
            self.entries[kind, made.correlation_id] += 1

    def clear(self) -> None:
        self.documents = 0
        self.entries.clear()


@pytest.fixture
def counter() -> Iterator[ParseCounter]:
    counter = ParseCounter()
    sys.setprofile(counter)
    threading.setprofile(counter)
    yield counter
    threading.setprofile(None)
    sys.setprofile(None)


@pytest.fixture
def bench(counter: ParseCounter) -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.loop.close()


@pytest.mark.behaviour("state.parsed-once")
async def test_the_next_turn_in_the_same_process_parses_nothing_of_the_past(
    counter: ParseCounter, bench: Bench
) -> None:
    await bench.run("one")
    counter.clear()

    run_id = await bench.run("two")

    assert counter.documents == 0
    assert counter.entries == {("Request", run_id): 1, ("Response", run_id): 1}
