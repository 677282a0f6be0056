"""How often a run is tried again whose model or agent failed, and how long it pauses before.

Tried again inside the run, before its end is recorded: what its steps have recorded is given again, so a tool that was
called is not called once more (docs/durability.md). The SDKs' own retries around a call would meet the recorded end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from hosting.errors import InvalidFieldError, InvalidOutputError, RunFailedError

RETRIED = frozenset({RunFailedError.code, InvalidOutputError.code})
"""Ends that another try may change; a time limit, a cancel and a refusal are for good."""

_RANGES = {
    "attempts": (1, 100),
    "first_pause_seconds": (0, 86_400),
    "backoff": (1, 100),
    "longest_pause_seconds": (0, 86_400),
}


@dataclass(frozen=True)
class Retry:
    """At most so many `attempts`; the pauses between them begin at the first and grow by the factor `backoff`.

    Raises `InvalidFieldError` for a number out of its range. All attempts share the run's time limit: one that could
    only begin behind it is not made.
    """

    attempts: int = 3
    first_pause_seconds: float = 1.0
    backoff: float = 2.0
    longest_pause_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            kinds = (int,) if name == "attempts" else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
                kind = "a whole number" if name == "attempts" else "a number"
                raise InvalidFieldError(f"retry.{name} is {value!r:.80}. Give {kind} from {least} to {most}.")

    def pause_seconds(self, failures: int) -> float | None:
        """Return how long to pause after so many failed attempts, or None when there is to be no other."""
        if failures >= self.attempts:
            return None
        return min(self.first_pause_seconds * self.backoff ** (failures - 1), self.longest_pause_seconds)

    def fields(self) -> dict[str, float]:
        """Return the members as a request carries them."""
        return asdict(self)


def read_retry(value: object) -> Retry | None:
    """Return what a request carries as its `retry`, None for nothing; raises `InvalidFieldError`."""
    if value is None:
        return None
    known = [field.name for field in fields(Retry)]
    if not isinstance(value, Mapping) or not set(value) <= set(known):
        raise InvalidFieldError(f"The field 'retry' is {value!r:.80}. Send an object of {', '.join(known)}.")
    return Retry(**value)
