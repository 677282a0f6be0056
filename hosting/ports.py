"""The ports: objects next to a thread, the durable engine and time, as the service sees them."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from msgspec import Struct

from hosting.names import StoreKey

Clock = Callable[[], float]
"""Seconds since 1970 (UTC): `time.time` in production, in tests a clock that the test moves."""

MOST_ROWS = 50
"""The most rows of one append to a thread's log: decisions keep to it, and every store takes as many."""


@dataclass(frozen=True)
class Wait:
    """Whether and how long the caller waits: `seconds` or as long as the app lets callers wait, whichever is less.

    They are infinite for a caller that reads the events of the run until its end. A wait counts `since` the request was
    read (by `time.monotonic`), as the caller's own does: what it takes to begin the run is part of it.
    """

    seconds: float | None = None
    answer: bool = True
    since: float = field(default_factory=time.monotonic, compare=False, repr=False)


class ObjectStore(Protocol):
    """Keeps bytes by name, for each life of a thread apart: the older entries of conversations, and large contents.

    A name is made of letters, digits and `-`. Every backend passes `tests/contracts/test_object_store.py`. Where the
    store cannot be reached each method raises the error that it was opened with, `errors.ArchiveUnavailableError` or
    `errors.AttachmentsUnavailableError`; calling again with the same arguments is safe.
    """

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        """Replace the stored values of these names, whatever happens to this process afterwards.

        Each counts as put now.
        """

    async def read(self, store_key: StoreKey, names: Collection[str]) -> dict[str, bytes]:
        """Return the bytes by name, of those that are there."""

    async def names(self, store_key: StoreKey, prefix: str = "") -> dict[str, float]:
        """Return the names that begin so with when each was last put (seconds since 1970), longest ago first."""

    async def put_between(self, space: str, after: float, before: float) -> list[tuple[float, str]]:
        """Return the names of that space's keys with something last put from `after` on and before `before`.

        Each comes with the first of those moments (seconds since 1970), oldest first. No other is read.
        """

    async def epochs(self, thread: StoreKey) -> list[int]:
        """Return which of the thread's epochs have objects, lowest first: those at `<name>/<epoch>`."""

    async def erase(
        self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = math.inf
    ) -> None:
        """Remove these, or all that lies under the store key; they are in no file of the store afterwards.

        With `before`, those stay that were put since that moment, also while this is done.
        """

    async def close(self) -> None:
        """Let go of files, connections and threads."""


class KeptContent(Struct, frozen=True):
    """A large content that a feature keeps, by its hash in hexadecimal digits; its `pieces` are read once."""

    sha256: str
    size_bytes: int
    pieces: AsyncIterator[bytes]


class EntityPage(Struct, frozen=True):
    """Keys of entities with the time of their last change (RFC 3339), and where the next page begins, if there is one.

    A page may be shorter than the limit, or empty, although there is a next one.
    """

    keys: tuple[tuple[str, str], ...]
    cursor: str | None


_END = "durableAgentEnd"


class EntityEnd(Struct, frozen=True):
    """The state that an entity leaves in the engine when its thread is deleted.

    `position` is that of the last event that it appended, in that epoch of the log. The engine stores both with the
    operation, so whoever reads them knows that it is committed. They hold no id and no text.
    """

    epoch: int
    position: int

    @property
    def text(self) -> str:
        """Return the end as an entity answers it, as JSON text."""
        return json.dumps({_END: {"epoch": self.epoch, "position": self.position}}, separators=(",", ":"))

    @classmethod
    def of(cls, state: object) -> EntityEnd | None:
        """Return the end that an entity's state is, given as the engine's JSON value; None for any other state."""
        end = state.get(_END) if isinstance(state, dict) and len(state) == 1 else None
        return cls(int(end["epoch"]), int(end["position"])) if isinstance(end, dict) else None


Purge = Literal["deleted", "running", "missing"]
"""The outcome of purging an instance: one in progress is left alone."""


@dataclass(frozen=True)
class OrchestrationStatus:
    """The state of an instance: the engine's word for it, its output, and the status that its own code set."""

    instance_id: str
    status: str
    output: Any
    custom_status: Any

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.status in ("Completed", "Failed", "Canceled", "Terminated")


class EntityClient(Protocol):
    """Reaches entities and instances: the durable client of one invocation.

    Each method raises `errors.EngineUnavailableError` when the engine cannot be reached.
    """

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Send a one-way operation with `value` as its input; it may be sent even where this raises."""

    async def read(self, entity: str, key: str) -> str | None:
        """Return the stored state as JSON text, or None when there is none."""

    async def ended(self, entity: str, key: str) -> EntityEnd | Literal["missing"] | None:
        """Return the end that the entity has committed; None where it has not, "missing" where there is no instance."""

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        """Return a page of the entities that have a state, in the store's order.

        With `changed_until`, only those whose last change was at that time (seconds since 1970) or before it; with
        `changed_from` at that time or after it.
        """

    async def purge(self, instance_id: str) -> Purge:
        """Remove an instance with its history: an orchestration that has ended, or an entity, whatever waits for it.

        An entity must have `ended`: the commit of one that is at work would fail, and an engine that fails so backs off
        from everything else for many seconds.
        """

    async def terminate(self, instance_id: str) -> None:
        """End a running orchestration, in a moment; raises for one that is not there, or has ended."""


class OrchestrationClient(Protocol):
    """Reaches orchestrations by the same client. Values are plain JSON; raises as `EntityClient` does."""

    async def start(self, name: str, instance_id: str, given: object) -> None:
        """Start an orchestration with that input; for a name that the app does not have it fails at once."""

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        """Return the state of an orchestration, or None when there is none of that id."""

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send an event to a running orchestration."""


class ClockClient(EntityClient, OrchestrationClient, Protocol):
    """Reaches entities, and the orchestrations that are clocks."""


_BOOT_TIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def awake_seconds() -> float:
    """Return seconds of a clock that only goes forward, and also while the machine sleeps where the system has one."""
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)


class Clocks(Struct, frozen=True):
    """The two times of a process, which tests move by hand.

    What is written down is dated by `wall`, seconds since 1970 (UTC). How long something has taken is measured by
    `awake`: a wall clock may be set, and two machines' differ.
    """

    wall: Clock = time.time
    awake: Clock = awake_seconds


SYSTEM_CLOCKS = Clocks()

AHEAD_SECONDS = 5400.0
"""A stored moment that is so far ahead of one's own clock is of a clock that was wrong. Two machines' may be an hour
apart."""
AFTER_ALL = 1e11
"""A moment after all that any clock has written, wrong ones too."""


_UTC = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(?:Z|\+00:00)\Z")
"""RFC 3339 in UTC; .NET writes seven decimals, of which Python reads six."""


def iso(at: float) -> str:
    """Return seconds since 1970 as RFC 3339 in UTC, with microseconds: `2026-01-01T00:00:00.000000+00:00`."""
    return datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="microseconds")


def utc(at: float) -> str:
    """Return the same with a `Z`, which is how .NET and the durable engine write a time in UTC."""
    return iso(at).replace("+00:00", "Z")


def read_utc(text: str) -> float | None:
    """Return the seconds since 1970 of a time that `iso`, `utc` or .NET wrote; None for any other text."""
    match = _UTC.match(text)
    if match is None:
        return None
    try:
        seconds = datetime.fromisoformat(f"{match[1]}+00:00").timestamp()
    except ValueError:
        return None
    return seconds + float(f"0.{match[2] or 0}")
