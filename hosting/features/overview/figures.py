"""The figures of the runs of one day: a fold that forgets which runs they were.

Theory. Latencies are counted in classes, each an eighth of a doubling wide, so that a median of a million runs takes as
much room as one of ten. A figure that is read from the classes is within 5 % of the run's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from hosting.core.outcome import usage_of
from hosting.core.thread.events import Completed, Terminal
from hosting.errors import RunCancelledError, RunRolledBackError, RunSupersededError

CANCELLED = frozenset(error.code for error in (RunCancelledError, RunSupersededError, RunRolledBackError))
"""The codes of runs that a person or a later request stopped: such a run did not fail."""
_CLASSES_A_DOUBLING = 8
_LEAST_SECONDS = 0.001

KeyT = TypeVar("KeyT")


class Day(BaseModel):
    """The runs that ended on one day (UTC): `failures` by their codes, `latencies` by their classes.

    The stored `failures` have the codes of cancelled runs too, as every version wrote them. Readers separate them by
    `failed` and `cancelled`, so a day is read right whichever version wrote it. `cost` is in trillionths of a unit of
    money.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    runs: int = 0
    failures: Mapping[str, int] = {}
    seconds: float = 0.0
    longest_seconds: float = 0.0
    latencies: Mapping[int, int] = {}
    tokens: Mapping[str, int] = {}
    cost: int = 0

    @property
    def failed(self) -> dict[str, int]:
        """The runs that failed, by their codes."""
        return {code: count for code, count in self.failures.items() if code not in CANCELLED}

    @property
    def cancelled(self) -> int:
        """How many runs were cancelled."""
        return sum(count for code, count in self.failures.items() if code in CANCELLED)

    def after(self, end: Terminal, seconds: float) -> Day:
        """Return the day with another run, and its time from request to end."""
        failures, tokens, latencies = dict(self.failures), dict(self.tokens), dict(self.latencies)
        if not isinstance(end, Completed):
            failures[end.code] = failures.get(end.code, 0) + 1
        for name, count in usage_of(end).items():
            if type(count) is int:
                tokens[name] = tokens.get(name, 0) + count
        latency = round(_CLASSES_A_DOUBLING * math.log2(max(seconds, _LEAST_SECONDS)))
        latencies[latency] = latencies.get(latency, 0) + 1
        return Day(
            runs=self.runs + 1,
            failures=failures,
            seconds=self.seconds + seconds,
            longest_seconds=max(self.longest_seconds, seconds),
            latencies=latencies,
            tokens=tokens,
            cost=self.cost + end.cost,
        )

    def plus(self, other: Day) -> Day:
        """Return the sum of both."""
        return Day(
            runs=self.runs + other.runs,
            failures=_added(self.failures, other.failures),
            seconds=self.seconds + other.seconds,
            longest_seconds=max(self.longest_seconds, other.longest_seconds),
            latencies=_added(self.latencies, other.latencies),
            tokens=_added(self.tokens, other.tokens),
            cost=self.cost + other.cost,
        )

    def latency_of(self, part: float) -> float:
        """Return how many seconds that part of the runs took at most: 0.5 is the median. 0 without runs."""
        wanted = math.ceil(part * self.runs)
        for latency, count in sorted(self.latencies.items()):
            wanted -= count
            if wanted <= 0:
                return float(min(2 ** (latency / _CLASSES_A_DOUBLING), self.longest_seconds))
        return self.longest_seconds


def _added(one: Mapping[KeyT, int], other: Mapping[KeyT, int]) -> dict[KeyT, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in (*one, *other)}
