"""The scripted agent with a webhook, whose further tries come at once and are looked for every second."""

from __future__ import annotations

import os

from scripted import scripted_agent

from hosting.functions import notices
from hosting.service import webhooks

webhooks.PAUSES = (0.0,) * len(webhooks.PAUSES)
notices.WEBHOOK_SCHEDULE = "* * * * * *"

from hosting.app import AgentFunctionApp  # noqa: E402 - it is made by what was set above

app = AgentFunctionApp(agents=[scripted_agent("Joker")], webhook=os.environ["RECEIVER"])
