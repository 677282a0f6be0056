"""How long a holder may go on with its run without an append, by its own clock."""

from __future__ import annotations

import time
from collections.abc import Callable

LEASE_SECONDS = 20.0
RENEWED_SHARE = 0.25
"""Of a lease: when nothing was appended for so long it is renewed, so that a slow store costs no run."""

SILENCE_MARGIN_SECONDS = 5.0
"""What a watcher waits beyond a lease, because its clock and the holder's do not run at one speed."""


_BOOT_TIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def awake_seconds() -> float:
    """Return seconds of a clock that only goes forward, and also while the machine sleeps where the system has one."""
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)


class Lease:
    """A claim's lease, as its holder knows it: never longer than what a watcher grants."""

    def __init__(self, seconds: float = LEASE_SECONDS, clock: Callable[[], float] = awake_seconds) -> None:
        self._seconds = seconds
        self._clock = clock
        self._renewed_at = clock()

    def begin(self) -> float:
        """Return the moment before an append that may renew the lease: it counts from there, not from its answer."""
        return self._clock()

    def renew(self, began_at: float) -> None:
        """Let the lease run from the moment before the append that renewed it."""
        self._renewed_at = max(self._renewed_at, began_at)

    @property
    def is_held(self) -> bool:
        """Whether nobody may have taken the run over yet: no model or tool call is begun otherwise."""
        return self._clock() - self._renewed_at < self._seconds

    @property
    def is_due(self) -> bool:
        """Whether it is time to renew it."""
        return self._clock() - self._renewed_at >= RENEWED_SHARE * self._seconds
