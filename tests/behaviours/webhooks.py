"""What is promised of webhooks."""

BEHAVIOURS = {
    "webhooks.bounded": "Whatever an address answers that a caller chose, without end or now and then, little of it is "
    "read, and the process does its other work meanwhile (docs/guides/notifications.md).",
    "webhooks.told": "A webhook is told how each run ended, in a form that verifiers take (notifications.md).",
    "webhooks.inside": "Nothing is sent to an address inside the network that no setting names (notifications.md).",
    "webhooks.again": "A receiver that does not take it is told again for a day, whatever dies (notifications.md).",
    "webhooks.apart": "A receiver that hangs delays no delivery to another one (docs/guides/notifications.md).",
    "webhooks.shown": "What a receiver did not take is listed with its answer, and sent again (notifications.md).",
    "webhooks.deleted": "Of a deleted thread nothing is told, and nothing is kept (docs/guides/notifications.md).",
    "webhooks.incomplete": "A webhook says whether the answer is whole (docs/guides/notifications.md).",
}
"""The issue's rules."""
