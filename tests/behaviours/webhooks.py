"""What is promised of webhooks."""

BEHAVIOURS = {
    "webhooks.bounded": "Whatever an address answers that a caller chose, without end or now and then, little of it is "
    "read, and the process does its other work meanwhile (docs/webhooks.md).",
    "webhooks.told": "A webhook is told how each run ended, in a form that verifiers take (docs/webhooks.md).",
    "webhooks.inside": "Nothing is sent to an address inside the network that no setting names (docs/webhooks.md).",
    "webhooks.again": "A receiver that does not take it is told again for a day, whatever dies (docs/webhooks.md).",
    "webhooks.apart": "A receiver that hangs delays no delivery to another one (docs/webhooks.md).",
    "webhooks.shown": "What a receiver did not take is listed with its answer, and sent again (docs/webhooks.md).",
    "webhooks.deleted": "Of a deleted thread nothing is told, and nothing is kept (docs/webhooks.md).",
    "webhooks.incomplete": "A webhook says whether the answer is whole (docs/webhooks.md).",
}
"""The issue's rules."""
