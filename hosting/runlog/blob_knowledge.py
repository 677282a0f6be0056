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
        self._read: OrderedDict[str, tuple[int, int]] = OrderedDict()
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

    def read_up_to(self, run_id: str, position: int, length: int) -> None:
        """Keep how many bytes a log has up to a position."""
        self._read[run_id] = (position, length)
        self._read.move_to_end(run_id)
        while len(self._read) > _MOST_RUNS:
            self._read.popitem(last=False)

    def length_at(self, run_id: str, position: int) -> int | None:
        """Return how many bytes a log has up to a position, if that is known."""
        known = self._runs.get(run_id)
        if known is not None and known.position == position:
            return known.version.length
        read = self._read.get(run_id)
        return read[1] if read is not None and read[0] == position else None

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
