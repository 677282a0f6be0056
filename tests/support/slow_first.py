"""A pytest plugin: where several processes share the tests, each begins with slow ones, and fast ones fill up the end.

By pytest-xdist's `worksteal` each process is given a share of the tests in their order. Who is done takes over what
comes last in the longest share. In the order of the folders a test of two minutes may begin when all else is over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from itertools import groupby, islice
from typing import TypeVar

import pytest

TestT = TypeVar("TestT")


def slow_first(
    tests: Sequence[TestT],
    processes: int,
    is_slow: Callable[[TestT], bool],
    file_of: Callable[[TestT], Hashable],
) -> list[TestT]:
    """Return the tests so that the share of each process begins with slow ones: those of one file in one share."""
    shares: list[list[TestT]] = [[] for _ in range(processes)]
    for _, together in groupby(filter(is_slow, tests), file_of):
        min(shares, key=len).extend(together)
    fast = iter([test for test in tests if not is_slow(test)])
    ordered: list[TestT] = []
    for number, share in enumerate(shares):
        size = (len(tests) - len(ordered)) // (processes - number)
        ordered += [*share, *islice(fast, max(0, size - len(share)))]
    return [*ordered, *fast]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, in each of the processes alike, once it is known which of them run."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes > 1:
        items[:] = slow_first(
            items,
            processes,
            is_slow=lambda item: item.get_closest_marker("slow") is not None,
            file_of=lambda item: item.path,
        )
