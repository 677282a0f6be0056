"""A pytest plugin: where several processes share the tests, each begins with slow ones, and fast ones fill up the end.

By pytest-xdist's `worksteal` each process is given a share of the tests in their order. Who is done takes over what
comes last in the longest share. In the order of the folders a test of two minutes may begin when all else is over: one
that takes long says so, by `pytest.mark.slow(seconds=120)`, and comes first.
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
    seconds_of: Callable[[TestT], float],
    file_of: Callable[[TestT], Hashable],
) -> list[TestT]:
    """Return the tests so that the share of each process begins with slow ones, which take seconds.

    Those of one file are in one share; files with long ones come first, and shares take as long as each other.
    """
    shares: list[list[TestT]] = [[] for _ in range(processes)]
    seconds = [0.0] * processes
    files = [list(together) for _, together in groupby(filter(seconds_of, tests), file_of)]
    for file in sorted(files, key=lambda file: max(map(seconds_of, file)), reverse=True):
        shortest = seconds.index(min(seconds))
        shares[shortest] += file
        seconds[shortest] += sum(map(seconds_of, file))
    fast = iter([test for test in tests if not seconds_of(test)])
    ordered: list[TestT] = []
    for number, share in enumerate(shares):
        size = (len(tests) - len(ordered)) // (processes - number)
        ordered += [*share, *islice(fast, max(0, size - len(share)))]
    return [*ordered, *fast]


def seconds_of(item: pytest.Item) -> float:
    """Return about how long a test takes where four run at once on two cores: 0 for a fast one, 2 unless it says."""
    marker = item.get_closest_marker("slow")
    return 0.0 if marker is None else float(marker.kwargs.get("seconds", 2.0))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, in each of the processes alike, once it is known which of them run."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes > 1:
        items[:] = slow_first(
            items,
            processes,
            seconds_of=seconds_of,
            file_of=lambda item: item.path,
        )
