"""The doors through which the behaviour reaches the outside: run log, entities, time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from hosting.events import Accepted, Event, Place
from hosting.run_record import RunRecord
from state.attached import Attachment

Clock = Callable[[], float]
"""Seconds since 1970 (UTC). `time.time` in production, a clock that a test moves elsewhere."""


@dataclass(frozen=True)
class Opened:
    """The log was created by this call."""

    record: RunRecord


@dataclass(frozen=True)
class Found:
    """A log was there before, under the same run id or the same receipt; nothing was written."""

    record: RunRecord


@dataclass(frozen=True)
class Erased:
    """All that is left of a run whose thread was deleted."""

    run_id: str


@dataclass(frozen=True)
class Deleting:
    """Nothing was written: the thread is marked for deletion, which is not done yet."""


@dataclass(frozen=True)
class QueueFull:
    """Nothing was written: so many runs of the thread have not ended."""

    open_runs: int


Opening = Opened | Found | Erased | Deleting | QueueFull


@dataclass(frozen=True)
class Deletion:
    """The mark on a thread: its id; once its runs are erased the digest of the stored conversation and how many they
    were; and the receipt of what was deleted, as JSON text, once there is one."""

    id: str
    digest: str | None = None
    runs: int = 0
    receipt: str | None = None


class RunLogStore(Protocol):
    """Where run logs are kept: one append-only list of events per run, shared by all processes of the app.

    Every backend passes `tests/contracts/test_run_log_store.py`. Positions count from 1, gapless. Each method raises
    `errors.LogUnavailableError` when the store cannot be reached; whether a write happened is then unknown, and
    calling again with the same arguments is safe. `batch_seconds` is how long words that are streamed may well wait for
    more of them, by what an append costs here.
    """

    batch_seconds: float

    async def open(self, accepted: Accepted, receipt: str | None = None, most_open: int | None = None) -> Opening:
        """Create the log with its first event, if there is none of that run id.

        With a `receipt` (a caller's idempotency key in its scope) the receipt and the log are written in one step, and
        a receipt that exists wins over the run id: the log that it names is found, or said to be erased. A new log is
        refused on a thread that is marked for deletion, and where `most_open` runs of the thread have not ended.
        """
        ...

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        """Append from position `after + 1` on if `after` is still the last position; tell whether that was done.

        All of the events in one step, or none.

        Compare-and-append is the only way to write, so of two writers one wins and the other reads what it lost to.
        """
        ...

    async def read(self, run_id: str) -> RunRecord | Erased | None:
        """Return the run as it stands, or None when there never was such a log."""
        ...

    async def events(self, run_id: str, after: int) -> tuple[Event, ...] | Erased | None:
        """Return what stands behind position `after`, oldest first; None when there never was such a log.

        Where some of a log is asked for, one that was erased meanwhile may seem to have nothing new.
        """
        ...

    async def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """Return those of the runs whose log has a `CancelRequested`, in one look however many they are."""
        ...

    async def runs_of(self, place: Place, limit: int) -> list[RunRecord]:
        """Return the runs of a thread, the newest first."""
        ...

    async def mark_deleting(self, place: Place, deletion_id: str) -> Deletion:
        """Mark the thread, so that no run is opened on it; an earlier mark that is not done yet is returned instead."""
        ...

    async def deletion(self, place: Place) -> Deletion | None:
        """Return the thread's mark, done or not, or None when it was never deleted."""
        ...

    async def erase(self, place: Place, deletion: Deletion, *, unless_open: bool = False) -> Deletion | None:
        """Remove every event of every run of the thread and store the mark with its digest, in one step.

        Return the mark with the number of runs; None when nothing was done, because `unless_open` was asked for and a
        run of the thread has not ended. Of each run an `Erased` remains, and its idempotency receipt. What was removed
        is in no file of the store afterwards.
        """
        ...

    async def settle(self, place: Place, deletion: Deletion) -> None:
        """Store the receipt of a deletion whose runs are erased; the mark of another deletion stays as it is."""
        ...

    async def expire(self, before: float, limit: int) -> int:
        """Remove the events of ended runs that were asked for before that time, of `limit` runs at most; tell how many.

        Of each an `Erased` remains, and its receipt: a key that was used begins no other run.
        """
        ...

    async def close(self) -> None:
        """Let go of files, connections and threads; pending writes are done first."""
        ...


@dataclass(frozen=True)
class Volume:
    """One conversation of a thread: what was said between two resets, which raise the `generation`."""

    place: Place
    generation: int


class ArchiveStore(Protocol):
    """Where the older entries of conversations are kept, under their positions, which count from 1 in each volume.

    Every backend passes `tests/contracts/test_archive_store.py`. The document says how many entries of its volume are
    archived; what stands behind that position was left by somebody who died, and is never asked for. Each method raises
    `errors.ArchiveUnavailableError` when the store cannot be reached; calling again with the same arguments is safe.
    """

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """Keep entries, each the JSON text of one, under the positions from `first` on.

        An entry that stands under one of these positions is replaced; no other is touched. Once this returns they are
        kept, whatever happens to this process.
        """
        ...

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """Return the entries from position `first` to `last`, as the JSON values that were put.

        Raises `errors.ArchiveIncompleteError` when one of them is not there.
        """
        ...

    async def erase(self, place: Place, before: int | None = None) -> int:
        """Remove the thread's volumes, where `before` is given those of the generations below it.

        Returns how many entries that were. What was removed is in no file of the store afterwards.
        """
        ...

    async def close(self) -> None:
        """Let go of files, connections and threads."""
        ...


class AttachmentStore(Protocol):
    """Where the large contents of conversations are kept, by thread and hash: once for each thread.

    Every backend passes `tests/contracts/test_attachment_store.py`. Each method raises
    `errors.AttachmentsUnavailableError` when the store cannot be reached; calling again with the same arguments is
    safe.
    """

    async def put(self, place: Place, attachments: Collection[Attachment]) -> None:
        """Keep these; once this returns they are kept, whatever happens to this process."""
        ...

    async def read(self, place: Place, hashes: Collection[str]) -> dict[str, bytes]:
        """Return the bytes of those of the thread's attachments that are there, by hash."""
        ...

    async def hashes(self, place: Place) -> list[str]:
        """Return the hashes of all of the thread's attachments, in their order."""
        ...

    async def erase(self, place: Place) -> None:
        """Remove all of the thread's attachments. They are in no file of the store afterwards."""
        ...

    async def close(self) -> None:
        """Let go of files, connections and threads."""
        ...


@dataclass(frozen=True)
class EntityPage:
    """Keys of entities with the time of their last change (RFC 3339), and where the next page begins, if there is one.

    A page may be shorter than was asked for, or empty, although there is a next one.
    """

    keys: tuple[tuple[str, str], ...]
    cursor: str | None


Purge = Literal["deleted", "running", "missing"]
"""What came of an instance that was to be purged: one that has not ended is left alone."""


class EntityClient(Protocol):
    """Reaches entities and instances: the durable client of one invocation.

    Each method raises `errors.EngineUnavailableError` when the engine cannot be reached.
    """

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Send a one-way operation whose input is the JSON of `value`; it may be sent even where this raises."""
        ...

    async def read(self, entity: str, key: str) -> str | None:
        """Return the stored state as JSON text, or None when there is none."""
        ...

    async def list(self, entity: str, limit: int, cursor: str | None, changed_until: float | None = None) -> EntityPage:
        """Return a page of the entities that have a state, in the store's order.

        With `changed_until`, only those whose last change was at that time (seconds since 1970) or before it.
        """
        ...

    async def purge(self, instance_id: str) -> Purge:
        """Remove an instance with its history: an orchestration that has ended, or an entity, whatever waits for it."""
        ...


@dataclass(frozen=True)
class OrchestrationStatus:
    """How an instance stands: the engine's word for it, what it returned, and what it says itself."""

    instance_id: str
    status: str
    output: Any
    custom_status: Any

    @property
    def is_over(self) -> bool:
        """Tell whether it has ended, well or not."""
        return self.status in ("Completed", "Failed", "Canceled", "Terminated")


class OrchestrationClient(Protocol):
    """Reaches orchestrations: the durable client of one invocation. Values are plain JSON.

    Each method raises `errors.EngineUnavailableError` when the engine cannot be reached.
    """

    async def start(self, name: str, instance_id: str, given: object) -> None:
        """Start an instance; of a name that no orchestration has it is one that fails at once."""
        ...

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        """Return how an instance stands, or None when there is none of that id."""
        ...

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send an event to a running instance."""
        ...
