"""A clock that a test moves."""

from __future__ import annotations


class Clock:
    """Stands until a test moves it: `now` is what it shows, in seconds."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
