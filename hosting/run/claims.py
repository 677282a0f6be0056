"""Claims: what an attempt appends before it runs the agent, and for how long it may."""

from __future__ import annotations

from hosting.events import Claim, Restarted, Started
from hosting.identity import new_id
from hosting.run_record import RunRecord


def next_claim(record: RunRecord, now: float, deadline: float, failed: str | None = None) -> Claim:
    """Return the claim of the next attempt, under a fencing token of its own.

    `failed` is the code of the attempt before when it ended so and is retried, None when it was lost with its process.
    """
    if not record.attempts:
        return Started(at=now, attempt=1, token=new_id(), deadline=deadline)
    return Restarted(
        at=now,
        attempt=record.attempts + 1,
        token=new_id(),
        deadline=deadline,
        void_after=record.settled,
        failed=failed,
    )


def token_of(record: RunRecord) -> str:
    """Return the fencing token of the newest claim, empty where there is none."""
    return record.claim.token if record.claim else ""


def attempt_seconds(record: RunRecord, now: float, limit_seconds: float) -> float:
    """Return how long the newest attempt may take: a retry has what the ones before it left of the run's time."""
    claim = record.claim
    is_retry = isinstance(claim, Restarted) and claim.failed is not None
    return round(claim.deadline - now, 1) if claim is not None and is_retry else limit_seconds
