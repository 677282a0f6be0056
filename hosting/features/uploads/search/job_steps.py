"""One step of a job that makes a file ready for search, and which step comes behind it, after which pause."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hosting.features.uploads.records import Scope, UploadedFile

_FIRST_PAUSE_SECONDS = 15.0
_LONGEST_PAUSE_SECONDS = 1800.0
TIDY_SECONDS = 3600.0
"""So long after a file is ready what older recipes made of it goes: by then no process of an older app is at work."""


class JobStep(Struct, frozen=True, omit_defaults=True):
    """One step of a job, as its orchestration carries it. `model` and `size` are those of the first batch.

    It has failed so many `tries`, and has waited so many `turns` for others or for a store. The job began anew so many
    times, its `restarts`.
    """

    instance: str
    scope: tuple[str, str, str, int]
    file_id: str
    recipe: str
    job: int
    do: Literal["read", "embed", "index", "tidy"] = "read"
    batch: int = 0
    batches: int = 0
    model: str = ""
    size: int = 0
    tries: int = 0
    turns: int = 0
    restarts: int = 0
    wait_seconds: float = 0.0

    @property
    def of(self) -> Scope:
        """Where the file is."""
        return Scope(*self.scope)


def to_tidy(step: JobStep, file: UploadedFile) -> JobStep | None:
    """Return the step behind the end of a job: none where nothing is known of the file but what the job made."""
    if len(file.indexes) < 2:
        return None
    return replace(fresh(step), do="tidy", wait_seconds=TIDY_SECONDS)


def later(step: JobStep) -> JobStep:
    """Return the step, to be taken after a pause that grows: it waits for others, or for a store."""
    return replace(step, turns=step.turns + 1, wait_seconds=pause_seconds(step.turns))


def fresh(step: JobStep) -> JobStep:
    """Return the step without what it has waited and failed before."""
    return replace(step, tries=0, turns=0, wait_seconds=0.0)


def pause_seconds(times: int) -> float:
    """Return how long a step waits that came so many times (s)."""
    return min(_FIRST_PAUSE_SECONDS * 2.0 ** min(times, 16), _LONGEST_PAUSE_SECONDS)
