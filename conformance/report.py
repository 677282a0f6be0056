"""What came of a trial, for people and for programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from conformance.trial import Result

OUTCOMES = ("passed", "failed", "not offered", "not tried")


def table(results: Sequence[Result]) -> str:
    """Return a row for each check, with the evidence below it, and the sums."""
    rows = []
    for result in results:
        rows.append(f"{result.outcome:12} {result.check.name:18} {result.check.promise}")
        if result.evidence:
            rows += textwrap.wrap(result.evidence, 110, initial_indent=" " * 32, subsequent_indent=" " * 32)
    counted = sums(results)
    return "\n".join([*rows, "", ", ".join(f"{counted[outcome]} {outcome}" for outcome in OUTCOMES)])


def document(results: Sequence[Result], **about: str) -> dict[str, Any]:
    """Return the same as JSON values."""
    checks = [
        {
            "name": result.check.name,
            "promise": result.check.promise,
            "how": result.check.how,
            "outcome": result.outcome,
            "evidence": result.evidence,
        }
        for result in results
    ]
    return {**about, "sums": sums(results), "checks": checks}


def sums(results: Sequence[Result]) -> dict[str, int]:
    """Return how many checks came to each outcome."""
    counted = Counter(result.outcome for result in results)
    return {outcome: counted[outcome] for outcome in OUTCOMES}  # type: ignore[index]
