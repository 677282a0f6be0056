"""Faults that a test sets on a proxy: which exchanges each is for, how often it fires, and that each did fire."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.relay import Relay

ANY_CHANCE = random.Random()


@dataclass
class Fault:
    """One set fault: what it does to an exchange, which `is_meant`, how often, and how often it `fired`.

    `shown` names what it is for. One that `may_miss` need not fire.
    """

    name: str
    effect: Callable[[Any], Awaitable[Any]]
    is_meant: Callable[[Any], bool]
    shown: str
    left: float = 1
    skip: int = 0
    share: float = 1.0
    chance: random.Random = ANY_CHANCE
    may_miss: bool = False
    fired: int = 0

    def takes(self, exchange: object) -> bool:
        """Whether the exchange is one of those that fail; the first `skip` of them do not."""
        if self.left <= 0 or not self.is_meant(exchange):
            return False
        if self.skip:
            self.skip -= 1
            return False
        return self.share == 1.0 or self.chance.random() < self.share

    def clear(self) -> None:
        """Let all further exchanges pass."""
        self.left = 0

    def did_nothing(self) -> None:
        """Count it back: it had nothing to do with the exchange that it took."""
        self.left += 1
        self.fired -= 1


class FaultyRelay(Relay):
    """A relay with faults; one that never fired, and had to, fails the `with` block."""

    def __init__(self, origins: Mapping[str, str]) -> None:
        super().__init__(origins)
        self._faults: list[Fault] = []

    def _taking(self, exchange: object) -> Fault | None:
        """Return the fault that fires now: of several for one exchange the one that was set first."""
        fault = next((fault for fault in self._faults if fault.takes(exchange)), None)
        if fault is not None:
            fault.left -= 1
            fault.fired += 1
        return fault

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        super().__exit__(kind, *rest)
        idle = [f"{fault.name!r} ({fault.shown})" for fault in self._faults if not fault.fired and not fault.may_miss]
        if kind is None and idle:
            raise AssertionError(f"Set, and never fired: {', '.join(idle)}. The test shows nothing of it.")
