"""The origin of a fork in its log: the difference between its first event and any other.

The text stands in the head for as long as the fork lives. So a request that comes again finds there that it was carried
out, in every process, and nothing has to be kept beside the thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from hosting.thread.head import Head

_MARK = "fork"


@dataclass(frozen=True)
class ForkSource:
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
        return f"{_MARK}/{self.entries}/{self.generation}/{self.point}/{self.thread_id}"

    @classmethod
    def parse(cls, text: str) -> ForkSource | None:
        """Return the source in that text; None if it is not of a fork."""
        mark, *rest = text.split("/", 4)
        if mark != _MARK or len(rest) != 4:
            return None
        entries, generation, point, thread_id = rest
        return cls(thread_id, point, int(entries), int(generation))

    def is_of_same_request(self, other: ForkSource) -> bool:
        """Return whether both come from one request, which may have been sent twice."""
        return (self.thread_id, self.point) == (other.thread_id, other.point)


def fork_source(head: Head) -> ForkSource | None:
    """Return the origin of the thread with that head; None if it is not a fork, or no longer."""
    return None if head.imported is None else ForkSource.parse(head.imported.source)
