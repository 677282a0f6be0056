"""Which version of an orchestration this host runs: its own `defaultVersion`, or an older one (host contract 6.2)."""

from __future__ import annotations


def refusal(wanted: str | None, current: str | None) -> str | None:
    """Return why an instance of the wanted version waits, or None when it runs here.

    The real host says nothing and leaves it Pending.
    """
    if wanted is None or (current is not None and _parts(wanted) <= _parts(current)):
        return None
    have = f"is {current}" if current else "is not set"
    return (
        f"it was started with version {wanted}, and extensions.durableTask.defaultVersion of host.json {have}. "
        "Set it to that version or a newer one and start the host again, or terminate the instance."
    )


def _parts(version: str) -> list[tuple[int, str]]:
    """Return the parts between the dots, numbers by their value and before words."""
    return [(int(part), "") if part.isdecimal() else (1 << 62, part.lower()) for part in version.split(".")]
