"""A log whose calls fail one by one: the proxy before it, the faults that are tried, and a turn for each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import pytest

from tests.support.fault_proxy import FaultProxy
from tests.support.redis_faults import RedisFaultProxy
from tests.support.set_faults import Fault

FAILING_KINDS = ("tables", "redis")
TOO_LATE_SECONDS = 7.0
"""Longer than any log waits for a call."""
LEAST_CALLS = 4
"""The appends of a turn with one tool: begun, the tool begun, its result, the end."""
Faults = Sequence[tuple[str, int, dict[str, float]]]
ONCE: Faults = [("request lost", 1, {}), ("answer dropped", 1, {}), ("slow", 1, {"seconds": 0.5})]
TWICE: Faults = [("request lost", 2, {}), ("answer dropped", 2, {})]
TOO_LATE: Faults = [("slow", 1, {"seconds": TOO_LATE_SECONDS}), ("slow", 2, {"seconds": TOO_LATE_SECONDS})]


def in_each_way(fixture: str) -> pytest.MarkDecorator:
    """Run a test with its log, and with the `faults` of its calls.

    The client of Redis asks once more by itself: only what fails twice gets to the product. With an account all does.
    """
    gate = [pytest.param("tables", ONCE, id="tables-once"), pytest.param("redis", [*ONCE, *TWICE], id="redis-fail")]
    explored = [pytest.param("tables", TWICE, id="tables-twice", marks=pytest.mark.explore)]
    explored += [pytest.param(kind, TOO_LATE, id=f"{kind}-late", marks=pytest.mark.explore) for kind in FAILING_KINDS]
    return pytest.mark.parametrize((fixture, "faults"), [*gate, *explored], indirect=[fixture])


class Proxy(Protocol):
    """What stands before a log and fails its calls."""

    def set(
        self, name: str, *, text: str = "", times: float = 1, skip: int = 0, may_miss: bool = False, **options: Any
    ) -> Fault:
        """Let calls in which the text stands fail, behind the first `skip`."""
        ...


@contextmanager
def proxied(settings: dict[str, str], request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, dict[str, str]]]:
    """Put a proxy before the log that settings name, and return the settings that name it by way of the proxy."""
    if settings["AGENT_LOG"] != "tables":
        with RedisFaultProxy(settings["AGENT_LOG"]) as server:
            yield server, {**settings, "AGENT_LOG": server.url}
    else:
        with FaultProxy(request.getfixturevalue("azurite").origins) as account:
            yield account, {**settings, "AzureWebJobsStorage": account.connection_string}


def set_for_each_call(proxy: Proxy, faults: Faults, calls: int) -> dict[str, Fault]:
    """Return the name of a turn for each of so many calls and each fault, which fires at that call of that turn."""
    assert calls >= LEAST_CALLS, "the calls of a plain turn were not counted"
    return {
        (name := f"turn-{number}-{skip}-end"): proxy.set(
            fault, text=name, times=times, skip=skip, may_miss=skip >= LEAST_CALLS, **options
        )
        for number, (fault, times, options) in enumerate(faults)
        for skip in range(calls)
    }
