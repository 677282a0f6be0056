"""What a service of the tests keeps: its runs and threads, in memory."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

REST_SECONDS = 0.002


@dataclass
class Run:
    """One run. Its pieces are its stream."""

    owner: str
    thread: str
    message: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    status: str = "queued"
    pieces: list[str] = field(default_factory=list)
    approval: str = ""
    attempt: int = 0
    joined: str = ""
    words: list[str] = field(default_factory=list)
    is_edited: bool = False
    is_paused: bool = False
    is_beside: bool = False
    """It began at the other process."""
    token: str = ""
    begun_anew: int = 0
    """How many pieces were there when it began anew."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass
class Thread:
    """The runs of a thread in the order in which they are to run, and its conversation."""

    runs: list[Run] = field(default_factory=list)
    entries: list[tuple[str, str]] = field(default_factory=list)
    is_hidden: bool = False


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what happens here."""
    while not is_so():  # noqa: ASYNC110 - one way to wait for all of it
        await asyncio.sleep(REST_SECONDS)
