"""What an agent says while it runs: heard at once by whoever listens in this process, logged in batches.

Theory. A word goes out when it comes; the log gets it with others, so the batch is what a crash may make the model say
again and not what a person waits for. Each delta says its offset in the answer, so that it stands right whatever was
logged twice or said anew. Words never come behind the step that they precede: a step's append takes the waiting ones
along. Said again by a later attempt, the words of a recorded model answer are known and are not logged again.

`hear` is used on the agents' loop, everything else on the log's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent_framework import AgentResponseUpdate

from hosting.agent.wording import Wording
from hosting.errors import LogUnavailableError
from hosting.runner.journal import Journal
from hosting.steps.step_journal import StaleAttemptError
from hosting.thread.events import Delta

logger = logging.getLogger(__name__)

Heard = Callable[[int, str], None]
"""Hears words with their offset."""


@dataclass(frozen=True)
class Pace:
    """How long words wait to be logged with more of them, in seconds, and how many characters do not wait."""

    seconds: float
    characters: int


class Words:
    """The words of one attempt. `heard` is told each of them; `on_stale` is called once another holds the run."""

    def __init__(self, journal: Journal, pace: Pace, heard: Heard, on_stale: Callable[[], None]) -> None:
        self._journal = journal
        self._pace = pace
        self._heard = heard
        self._on_stale = on_stale
        self._wording = Wording()
        self._loop = asyncio.get_running_loop()
        self._said = ""
        self._logged = 0
        self._half = ""
        self._is_closed = False
        self._hurry = asyncio.Event()
        self._logging: asyncio.Task[None] | None = None
        journal.take_words = self._take

    def hear(self, update: AgentResponseUpdate, *, is_known: bool) -> None:
        """Take what the agent says next; `is_known` when an earlier attempt said it and the log has it."""
        text = self._wording.next(update)
        if text:
            self._loop.call_soon_threadsafe(self._say, text, is_known)

    async def close(self, answer: str | None) -> tuple[Delta, ...]:
        """Return what is to be appended with the run's end: what the log lacks of the answer, from its offset on.

        The answer may be another than what was said, where an agent's own middleware changed it; None for none.
        """
        self._is_closed = True
        self._hurry.set()
        if self._logging is not None:
            await self._logging
        if answer is None:
            return self._take()
        whole, logged = _characters(answer), self._said[: self._logged]
        if whole != self._said:
            same = _same(whole, self._said)
            self._heard(same, whole[same:])
        same = _same(whole, logged)
        self._said, self._logged = whole, len(whole)
        return () if whole == logged else (self._delta(same, whole[same:]),)

    def _say(self, text: str, is_known: bool) -> None:
        text, self._half = _whole(self._half + text)
        if not text:
            return
        offset = len(self._said)
        self._said += text
        if is_known:
            self._logged = len(self._said)
            return
        self._heard(offset, text)
        if len(self._said) - self._logged >= self._pace.characters:
            self._hurry.set()
        if self._logging is None and not self._is_closed:
            self._logging = asyncio.ensure_future(self._log_batches())

    async def _log_batches(self) -> None:
        """Log the first words at once, and those that come meanwhile together, for as long as there are some."""
        while self._logged < len(self._said) and not self._is_closed:
            self._hurry.clear()
            try:
                await self._journal.append_here()
            except LogUnavailableError:
                logger.warning("Run %s: its words wait for the log.", self._journal.ids.run_id)
            except StaleAttemptError:
                self._is_closed = True
                self._on_stale()
            await self._pause()
        self._logging = None

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._hurry.wait(), self._pace.seconds)
        except asyncio.TimeoutError:
            return

    def _take(self) -> tuple[Delta, ...]:
        """Return the words that the log does not have; whoever takes them appends them."""
        offset, self._logged = self._logged, len(self._said)
        return (self._delta(offset, self._said[offset:]),) if offset < self._logged else ()

    def _delta(self, offset: int, text: str) -> Delta:
        return Delta(at=time.time(), run_id=self._journal.ids.run_id, offset=offset, text=text)


def _same(one: str, other: str) -> int:
    """Return how many characters the two begin with alike."""
    shorter, longer = sorted((one, other), key=len)
    if longer.startswith(shorter):
        return len(shorter)
    return next(at for at in range(len(shorter)) if one[at] != other[at])


def _whole(text: str) -> tuple[str, str]:
    """Return the text with halves of characters joined, and a half at its end that waits for its other."""
    half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return _characters(text[: len(text) - len(half)]), half


def _characters(text: str) -> str:
    """Return the text with halves of characters joined, and a replacement character for one that stays alone."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
