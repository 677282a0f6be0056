"""Entries as the archive's stores keep them: in segments, each the consecutive entries that one move brought.

A segment is named by its first and last position, so that putting it again after a crash replaces it. Where two
overlap, because what moved after a crash was cut elsewhere, both hold the same entries; only after a backup was
restored do they not, and then the newer one stands. Bounds keep a segment within one call and one item of every store,
and let a reader find those that cover a position without an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hosting.errors import ArchiveIncompleteError
from state.json_values import dump, parse

MOST_ENTRIES = 1000
MOST_BYTES = 1_000_000
"""A segment of several entries stays below it; one entry may be larger alone."""


@dataclass(frozen=True)
class Segment:
    """Consecutive entries as JSON texts of one line each; `first` is the position of the first."""

    first: int
    entries: tuple[str, ...]

    @property
    def last(self) -> int:
        """The position of the last entry."""
        return self.first + len(self.entries) - 1


def cut(first: int, entries: Sequence[str]) -> Iterator[Segment]:
    """Iterate over the segments that hold the entries, in their order."""
    held: list[str] = []
    size = 0
    for entry in map(_one_line, entries):
        bytes_more = len(entry.encode(errors="surrogatepass"))
        if held and (len(held) == MOST_ENTRIES or size + bytes_more > MOST_BYTES):
            yield Segment(first, tuple(held))
            first, held, size = first + len(held), [], 0
        held.append(entry)
        size += bytes_more
    if held:
        yield Segment(first, tuple(held))


def encode(segment: Segment) -> bytes:
    """Return the entries as JSON lines."""
    return "\n".join(segment.entries).encode(errors="surrogatepass")


def decode(first: int, body: bytes) -> Segment:
    """Return the segment that `encode` wrote."""
    return Segment(first, tuple(body.decode(errors="surrogatepass").split("\n")))


def laid_out(segments: Iterable[Segment], first: int, last: int) -> list[str]:
    """Return the entries at these positions, where segments overlap from the later one.

    Raises `ArchiveIncompleteError` when a position is not covered.
    """
    found: dict[int, str] = {}
    for segment in segments:
        found.update(enumerate(segment.entries, start=segment.first))
    missing = next((position for position in range(first, last + 1) if position not in found), None)
    if missing is not None:
        raise ArchiveIncompleteError(
            f"The archive lacks entry {missing} of this conversation: it is being reset or deleted, or the archive has "
            "lost it."
        )
    return [found[position] for position in range(first, last + 1)]


def _one_line(entry: str) -> str:
    """Texts of other writers may be laid out in lines; the JSON value is the same."""
    return dump(parse(entry)) if "\n" in entry else entry
