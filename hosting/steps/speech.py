"""What an agent says, appended to its run's log while it says it.

Theory. The first words are appended at once; what comes while they are written, and for a while after, goes together in
the next append, so that the number of appends follows the time and not the tokens. Nothing is shown to anybody before
it is in the log. Words never come behind the step that they precede: a step's append takes the waiting ones along. Said
again by a later attempt, the words of a recorded model answer are known and not appended again. Source: turn.md,
Records 4; http-api.md section 5.

`hear` is used on the agents' loop, everything else on the log's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

from agent_framework import AgentResponseUpdate

from hosting.agent.wording import Wording
from hosting.errors import LogUnavailableError
from hosting.events import Delta
from hosting.ports import Clock
from hosting.steps.journal import Journal
from hosting.steps.step_journal import StaleAttemptError

logger = logging.getLogger(__name__)

_BEHIND_SECONDS = 0.1
"""Between two tries at a log that is away, however fast words are to come."""


@dataclass(frozen=True)
class Pace:
    """How long words wait for more of them, in seconds, and how many characters do not wait."""

    seconds: float
    characters: int


class Speech:
    """The words of one attempt. `on_stale` is called once another attempt holds the run."""

    def __init__(self, journal: Journal, clock: Clock, pace: Pace, on_stale: Callable[[], None]) -> None:
        self._journal = journal
        self._clock = clock
        self._pace = pace
        self._on_stale = on_stale
        self._wording = Wording()
        self._loop = asyncio.get_running_loop()
        self._said: list[str] = []
        self._waiting = ""
        self._is_behind = False
        self._is_closed = False
        self._hurry = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        journal.take_words = self._take

    def hear(self, update: AgentResponseUpdate, *, is_known: bool) -> None:
        """Take what the agent says next; `is_known` when an earlier attempt said it and the log has it."""
        text = self._wording.next(update)
        if text:
            self._loop.call_soon_threadsafe(self._say, text, is_known)

    async def last_words(self, answer: str | None) -> tuple[Delta, ...]:
        """Return what is to be appended with the run's end: the words that wait and the rest of the `answer`, if any.

        All of it, in the place of what was said, where that is something else, because an agent's own middleware
        changed it, or may lack something, because the log was away.
        """
        self._is_closed = True
        self._hurry.set()
        if self._writing is not None:
            await self._writing
        if self._is_behind:
            await self._append()
        told, said = _characters(answer or ""), _characters("".join(self._said))
        if answer is not None and (self._is_behind or not told.startswith(said)):
            return (Delta(at=self._clock(), text=told, void_after=0),)
        rest = told[len(said) :]
        return (*self._take(), *((Delta(at=self._clock(), text=rest),) if rest else ()))

    def _say(self, text: str, is_known: bool) -> None:
        self._said.append(text)
        if is_known:
            return
        self._waiting += text
        if len(self._waiting) >= self._pace.characters:
            self._hurry.set()
        if self._writing is None and not self._is_closed:
            self._writing = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        while (self._waiting or self._is_behind) and not self._is_closed:
            self._hurry.clear()
            await self._append()
            pause = max(self._pace.seconds, _BEHIND_SECONDS) if self._is_behind else self._pace.seconds
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), pause)
        self._writing = None

    async def _append(self) -> None:
        try:
            await self._journal.append_here()
            self._is_behind = False
        except LogUnavailableError:
            self._is_behind = True
            logger.warning("Run %s: its words wait for the run log.", self._journal.record.run_id)
        except StaleAttemptError:
            self._is_closed = True
            self._on_stale()

    def _take(self) -> tuple[Delta, ...]:
        """Return the words that wait as what is to be appended; half a character waits for its other half."""
        text, self._waiting = self._waiting, ""
        if "\ud800" <= text[-1:] <= "\udbff" and not self._is_closed:
            text, self._waiting = text[:-1], text[-1]
        return (Delta(at=self._clock(), text=_characters(text)),) if text else ()


def _characters(text: str) -> str:
    """Return the text with halves of characters joined, and a replacement character for one that stays alone."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
