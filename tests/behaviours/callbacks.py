"""What is promised of response callbacks."""

BEHAVIOURS = {
    "callbacks.response": "A callback hears each run's answer, whichever door it came by (notifications.md).",
    "callbacks.failure": "A callback hears of each run that ended without an answer (docs/guides/notifications.md).",
    "callbacks.updates": "A callback hears what the agent says while it says it, at best effort (notifications.md).",
    "callbacks.harmless": "A callback that fails, hangs or blocks fails and delays no run (notifications.md).",
    "callbacks.at-least-once": "The end of a run is told at least once, whatever dies (docs/guides/notifications.md).",
    "callbacks.choice": "An agent's own callback goes before the app's; what is none is refused (notifications.md).",
    "callbacks.deleted": "Of a run that was deleted nothing is told (docs/guides/notifications.md).",
}
"""The rules of the seeds' callback protocol, and ours."""
