"""The source of a thread that began with the conversation of another thread: a fork, or a thread that was assigned.

The text of the source stands in the log, and in the head for as long as the thread lives. So a request that comes again
finds there that it was carried out, in every process, and nothing has to be kept beside the thread.
"""

from __future__ import annotations

from msgspec import Struct

from hosting.core.thread.head import Head
from hosting.names import Address

_FORK_MARK = "fork"


class ForkSource(Struct, frozen=True):
    """A thread of the same agent and owner; the fork has its first `entries`, because of the request for `point`.

    `generation` is of the fork's archive: each attempt to make it has one of its own.
    """

    thread_id: str
    point: str
    entries: int
    generation: int

    @property
    def text(self) -> str:
        """The source as the log has it; no id has a `/`."""
        return f"{_FORK_MARK}/{self.entries}/{self.generation}/{self.point}/{self.thread_id}"

    def is_of_same_request(self, source: ForkSource) -> bool:
        """Return whether both come from one request, which may have been sent twice."""
        return (self.thread_id, self.point) == (source.thread_id, source.point)


class AssignedSource(Struct, frozen=True):
    """A thread of the app, or of another owner, with the epoch and the position at which it was copied."""

    key: str
    epoch: int
    position: int

    @classmethod
    def of(cls, address: Address, head: Head) -> AssignedSource:
        """Return the thread at that address as a source, as it stands."""
        return cls(address.key, head.epoch, head.position)

    @property
    def text(self) -> str:
        """The source as the log has it; no key has a `/`."""
        return f"{self.key}/{self.epoch}/{self.position}"


def fork_source(head: Head) -> ForkSource | None:
    """Return the source of the thread with that head; None if it is not a fork, or no longer."""
    if head.imported is None:
        return None
    mark, *rest = head.imported.source.split("/", 4)
    if mark != _FORK_MARK or len(rest) != 4:
        return None
    entries, generation, point, thread_id = rest
    return ForkSource(thread_id, point, int(entries), int(generation))


def assigned_source(head: Head) -> AssignedSource | None:
    """Return the source of the thread with that head; None if it was not assigned, or no longer."""
    if head.imported is None or fork_source(head) is not None:
        return None
    key, epoch, position = head.imported.source.rsplit("/", 2)
    return AssignedSource(key, int(epoch), int(position))
