"""The differences that we want, each with its reason in decisions.md, and those that are still to be mended.

Each has a row that shows it. The list is strict: a row that no longer differs takes its line out, and a difference that
no line names fails the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.fidelity.features import Row, row


@dataclass(frozen=True)
class Difference:
    """What differs, as a pattern of the sentence that says so, in which rows, and one of those."""

    title: str
    pattern: str
    shown_by: Row
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def explains(self, of: Row, difference: str) -> bool:
        """Return whether this is that difference."""
        is_there = all(of[name] in choices for name, choices in self.where)
        return is_there and re.search(self.pattern, difference) is not None


WANTED = (
    Difference(
        "An answer that is not of the wanted format ends its run by name",
        r"plain answered '', hosted failed 'invalid_output",
        row(tools="one", format="schema", middleware="ends without a result"),
        (("format", ("schema",)),),
    ),
    Difference(
        "Summaries of an agent's own tool results are no part of its answer",
        r"plain says '.*\[Tool results: ",
        row(tools="rounds", compaction="tool results"),
        (("compaction", ("tool results",)),),
    ),
    Difference(
        "What was decided is no part of the history that is summed up, so a summary may begin elsewhere",
        r"(messages|input)\[\d+\]\.content",
        row(tools="one", approval="person", compaction="kept summary"),
        (("compaction", ("kept summary", "summary")), ("approval", ("person", "rule", "standing", "mixed", "refused"))),
    ),
)

UNFINISHED = (
    Difference(
        "Where a service keeps the conversation, a CompactionProvider sums up all of the thread",
        r"plain \"1\. \[assistant\].*hosted \"1\. \[assistant\]",
        row(
            client="responses",
            carrier="streamed",
            tools="parallel",
            approval="mixed",
            middleware="agent",
            provider="history of each call",
            compaction="kept summary",
            store="on",
        ),
        (("store", ("on",)),),
    ),
)


def unexplained(of: Row, differences: list[str]) -> list[str]:
    """Return the differences that are on no list; what follows the first one of a row may follow from it."""
    if differences and any(known.explains(of, differences[0]) for known in (*WANTED, *UNFINISHED)):
        return []
    return differences
