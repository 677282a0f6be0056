"""The one line that the log of the library says of a run at its end: ids, counts and times, and no text of anybody."""

from __future__ import annotations

import logging

from hosting.run_record import RunRecord
from hosting.thread.events import Completed, Terminal

logger = logging.getLogger(__name__)


def tell_end(record: RunRecord) -> None:
    """Say how a run ended, at INFO. Called by the process whose terminal record was appended, so once for each run.

    It waited until its last attempt began, and ran for as long as that one took.
    """
    terminal = record.terminal
    if terminal is None or not logger.isEnabledFor(logging.INFO):
        return
    accepted, claim = record.accepted, record.claim
    began = claim.at if claim is not None else terminal.at
    logger.info(
        "Run %s of agent %s on thread %s: %s; attempts %d, waited %.3f s, ran %.3f s, tokens in %s, out %s.",
        record.run_id,
        accepted.agent,
        accepted.thread_id,
        outcome_of(terminal),
        record.attempts,
        began - accepted.at,
        terminal.at - began,
        *_tokens(terminal),
        extra={"run_id": record.run_id, "agent": accepted.agent, "thread_id": accepted.thread_id},
    )


def outcome_of(terminal: Terminal) -> str:
    """Return how a run ended in one word: `completed`, or the code of its error."""
    return terminal.kind if isinstance(terminal, Completed) else terminal.code


def _tokens(terminal: Terminal) -> tuple[str, str]:
    """Return the counts as the stored entry has them; '-' for a model that counts nothing."""
    usage = terminal.entry.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return str(counts.get("inputTokenCount", "-")), str(counts.get("outputTokenCount", "-"))
