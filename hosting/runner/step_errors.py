"""What ends a run whose recorded steps its next attempt cannot go on behind."""

from __future__ import annotations

from hosting.errors import RunDivergedError, RunInterruptedError


def interrupted(name: str) -> RunInterruptedError:
    """Return the error of a call that was cut short, and is not made again."""
    return RunInterruptedError(
        f"The process ended while tool {name!r} ran, and a tool is called at most once. "
        "Whether it did its work is unknown."
    )


def diverged(step: str) -> RunDivergedError:
    """Return the error of an attempt that does something else than was recorded."""
    return RunDivergedError(
        f"The attempt before this one recorded something else at {step}: the agent's code changed, or it does not do "
        "the same twice. Nothing was done again; send the message once more."
    )
