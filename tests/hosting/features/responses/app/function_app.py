"""The scripted agent and the clerk on a host, with the wire.

With LEASE_SECONDS a run whose process died is taken over that much sooner. Its streams are hardly ever silent, so that
clients meet pings.
"""

import os
from functools import partial

import hosting.app
import hosting.functions.answering
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk

hosting.functions.answering.PING_SECONDS = 0.005
if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
app = hosting.app.AgentFunctionApp(
    agents=[scripted_agent("Joker"), clerk(print)], wires=["responses"], client_tools=True
)
