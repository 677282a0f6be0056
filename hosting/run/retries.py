"""Between two attempts of one run: whether there is to be another after a failure, the pause, and its claim.

Theory. A retry is a claim of its own, appended by the attempt that failed and before the pause: it counts in the run's
record, so a crash forgets none, and what was said since the last recorded step is void as after a crash. It keeps the
deadline of the claim before: the platform gives one delivery so much time and no more. A wish to cancel ends the pause.
Source: design.md 4, model retries inside the run.
"""

from __future__ import annotations

import asyncio
import logging

from hosting.agent.stop import Stop
from hosting.errors import HostingError
from hosting.ports import Clock
from hosting.retry import RETRIED, Retry
from hosting.run.claims import next_claim
from hosting.run_record import RunRecord
from hosting.steps.journal import Journal

logger = logging.getLogger(__name__)


class Retries:
    """The retries of one agent's runs; `default` is for requests that bring none."""

    def __init__(self, clock: Clock, default: Retry | None = None) -> None:
        self._clock = clock
        self._default = default

    async def begun(self, journal: Journal, stop: Stop, error: HostingError) -> bool:
        """Claim the run for another attempt and pause, or return False when `error` is to be the run's end.

        `journal.record` is then held by the next attempt's token. Raises `StaleAttemptError` and
        `LogUnavailableError` as a step does.
        """
        claim = journal.record.claim
        seconds = self._pause_seconds(journal.record, error)
        if claim is None or seconds is None or self._clock() + seconds >= claim.deadline:
            return False
        logger.warning(
            "Run %s: attempt %d ended as %s; another in %g s.",
            journal.record.run_id,
            claim.attempt,
            error.code,
            seconds,
        )
        await journal.append_here(next_claim(journal.record, self._clock(), claim.deadline, failed=error.code))
        await _pause(seconds, stop)
        return True

    def _pause_seconds(self, record: RunRecord, error: HostingError) -> float | None:
        retry = record.accepted.request.retry or self._default
        return retry.pause_seconds(record.failures + 1) if retry is not None and error.code in RETRIED else None


async def _pause(seconds: float, stop: Stop) -> None:
    """Return after so many seconds, or once the run is to end."""
    pausing = asyncio.ensure_future(asyncio.sleep(seconds))
    stop.bind(pausing)
    try:
        await asyncio.wait((pausing,))
    finally:
        pausing.cancel()
