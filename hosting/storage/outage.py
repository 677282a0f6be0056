"""What the log says of a store that fails: which one it is and why, once for as long as that lasts."""

from __future__ import annotations

import asyncio
import logging

logger = logging.getLogger(__name__)


class Outage:
    """Tells of one store that it cannot be used, and that it can be used again.

    Every call that such a store fails would say the same, and those who follow a run ask it several times a second: so
    only what is new is said. `store` names it with its path or address, and holds no key.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._told = ""

    def began(self, error: BaseException) -> None:
        """Say the cause, unless it is what was said last."""
        cause = cause_of(error)
        if cause != self._told:
            logger.error("%s cannot be used: %s", self._store, cause)
        self._told = cause

    def ended(self) -> None:
        """Say that the store is there again, if it was not."""
        if self._told:
            logger.warning("%s can be used again.", self._store)
        self._told = ""


def cause_of(error: BaseException) -> str:
    """Return the first line of what the store's client says, as a sentence.

    Clients for services put what was sent, and what came back, into the lines below.
    """
    if isinstance(error, asyncio.TimeoutError):
        return "it did not answer in time."
    said = next(iter(str(error).splitlines()), "").strip().rstrip(".")
    return f"{said or type(error).__name__}."
