"""The writer of one attempt's progress: the newest report goes into the log, and those before it are forgotten.

Theory. A report that waits goes with whatever the run appends next. Where nothing is appended, the first one is written
at once, and later ones after a pause: of `PAUSE_SECONDS`, or of a hundredth of the time since the first report, if that
is longer. So the log of a run of hours has some hundreds of them, and a reader anywhere is at most 1 % behind. What
waits when a process is killed is lost, and the attempt that follows reports anew.

Within an attempt the share never falls: of several tools at once, the highest counts.
"""

from __future__ import annotations

import asyncio
import logging

from hosting.core.agent.held_run import HeldRun, StaleTokenError
from hosting.core.thread.events import Progressed, Step
from hosting.errors import LogUnavailableError
from hosting.visible import visible_line
from state.portable import portable_text

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
_SHARE_OF_TIME = 0.01


class ProgressWriter:
    """Writes the progress of one attempt. For the loop of the log."""

    def __init__(self, held: HeldRun, attempt: int) -> None:
        self.attempt = attempt
        self._held = held
        self.began_at = held.clocks.awake()
        self._share = 0.0
        self._waiting: Progressed | None = None
        self._logging: asyncio.Task[None] | None = None
        self._take_deltas = held.take_deltas
        held.take_deltas = self._take

    def write(self, share: float, text: str) -> None:
        """Take the newest progress."""
        self._share = max(self._share, share)
        line = visible_line(portable_text(text))
        moment, run_id = self._held.clocks.wall(), self._held.run_id
        self._waiting = Progressed(at=moment, run_id=run_id, share=self._share, text=line)
        if self._logging is None:
            self._logging = asyncio.ensure_future(self._log())

    def _take(self) -> tuple[Step, ...]:
        """Return what the log does not have: the deltas that wait, and the progress."""
        waiting, self._waiting = self._waiting, None
        return (*self._take_deltas(), *(() if waiting is None else (waiting,)))

    async def _log(self) -> None:
        try:
            while self._waiting is not None and not self._held.is_over.is_set():
                await self._held.append_on_loop()
                await asyncio.sleep(self.pause_seconds(self._held.clocks.awake()))
        except StaleTokenError:
            self._held.stop.request()  # nothing that it does now can be recorded
        except LogUnavailableError:
            logger.warning("Run %s: its progress waits until the log can be written.", self._held.run_id)
        finally:
            self._logging = None

    def pause_seconds(self, now: float) -> float:
        """Return the pause behind what is written at that moment of `Clocks.awake`."""
        return max(PAUSE_SECONDS, _SHARE_OF_TIME * (now - self.began_at))


def write_progress(held: HeldRun, attempt: int, share: float, text: str) -> None:
    """Write a progress of that attempt, unless the attempt is over by now. On the loop of the log."""
    if held.is_over.is_set() or held.run.attempts != attempt:
        return
    if held.reporter is None or held.reporter.attempt != attempt:
        held.reporter = ProgressWriter(held, attempt)
    held.reporter.write(share, text)
