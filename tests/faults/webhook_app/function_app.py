"""The scripted agent with a webhook, whose further tries come at once and are looked for every second.

A try that hangs is left to its process for as long as `KEPT_SECONDS` says.
"""

from __future__ import annotations

import os

from scripted import scripted_agent

from hosting.functions import notices
from hosting.service import webhook_notes, webhooks

webhook_notes.PAUSES = (0.0,) * len(webhook_notes.PAUSES)
webhooks.KEPT_SECONDS = webhook_notes.BEHIND_SECONDS = float(os.environ.get("KEPT_SECONDS", "180"))
notices.WEBHOOK_SCHEDULE = "* * * * * *"

from hosting.app import AgentFunctionApp  # noqa: E402 - it is made by what was set above

app = AgentFunctionApp(agents=[scripted_agent("Joker")], webhook=os.environ["RECEIVER"])
