"""What one process knows of a blob run log, so that it need not ask: never a reason to write, only to look.

A known version makes an append one call, because the storage compares it. A known open run or mark makes an open look
once more before it is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from hosting.events import Place
from hosting.storage.blob_container import Version

_MOST_RUNS = 4096


@dataclass(frozen=True)
class Known:
    """A run's last position and the version of its blob there. `place` is where it was opened; `is_to_cancel` tells
    that a wish to cancel it stands outside of its log."""

    position: int
    version: Version
    place: Place
    is_to_cancel: bool = False


class Knowledge:
    """The newest of what this process saw, bounded."""

    def __init__(self) -> None:
        self.deleting: set[Place] = set()
        self._runs: OrderedDict[str, Known] = OrderedDict()
        self._open: dict[Place, set[str]] = {}

    def of(self, run_id: str) -> Known | None:
        """Return what was last seen of a run."""
        return self._runs.get(run_id)

    def saw(self, run_id: str, known: Known, *, is_ended: bool) -> None:
        """Keep what was seen of a run."""
        self._runs[run_id] = known
        self._runs.move_to_end(run_id)
        if is_ended:
            self.ended(run_id, known.place)
        while len(self._runs) > _MOST_RUNS:
            oldest, its = self._runs.popitem(last=False)
            self.ended(oldest, its.place)

    def forget(self, run_id: str) -> None:
        """Forget the version of a run, so that it is looked at before the next append."""
        self._runs.pop(run_id, None)

    def opening(self, run_id: str, place: Place) -> None:
        """Count a run among the open ones of its thread."""
        self._open.setdefault(place, set()).add(run_id)

    def ended(self, run_id: str, place: Place) -> None:
        """Count it no longer."""
        runs = self._open.get(place, set())
        runs.discard(run_id)
        if not runs:
            self._open.pop(place, None)

    def open_runs(self, place: Place) -> list[str]:
        """Return the runs of the thread that this process opened and has not seen the end of."""
        return list(self._open.get(place, ()))
