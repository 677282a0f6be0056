"""What is promised of runs that are tried again."""

BEHAVIOURS = {
    "retry.inside-the-run": "A run with a retry is tried again before it is recorded as failed, after pauses that "
    "grow; it is one run all the while.",
    "retry.tools-once": "Another attempt calls no tool again whose call is recorded.",
    "retry.time-limit": "All attempts of one delivery share the run's time limit (docs/guides/orchestrations.md).",
    "retry.survives-crashes": "A crash forgets no failed attempt, and a failed attempt is no crash.",
    "retry.cancelled": "A run that is cancelled while it pauses ends at once.",
    "retry.refused": "A retry that is none is refused where it is made, by a sentence.",
    "retry.per-call-and-agent": "A call's retry counts before that of its proxy, and that before the agent's own.",
}
