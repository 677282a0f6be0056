"""What is promised of response callbacks."""

BEHAVIOURS = {
    "callbacks.response": "A callback hears each run's answer, whichever door it came by (docs/callbacks.md).",
    "callbacks.failure": "A callback hears of each run that ended without an answer (docs/callbacks.md).",
    "callbacks.updates": "A callback hears what the agent says while it says it, at best effort (docs/callbacks.md).",
    "callbacks.harmless": "A callback that fails, hangs or blocks fails and delays no run (docs/callbacks.md).",
    "callbacks.at-least-once": "The end of a run is told at least once, whatever dies (docs/callbacks.md).",
    "callbacks.choice": "An agent's own callback goes before the app's; what is none is refused (docs/callbacks.md).",
    "callbacks.deleted": "Of a run that was deleted nothing is told (docs/callbacks.md).",
}
"""The rules of the seeds' callback protocol, and ours."""
