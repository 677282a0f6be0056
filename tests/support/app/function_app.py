"""The app that the endpoint tests run, directly and on the local host.

With OWNERS each request is Ada's. With LEASE_SECONDS a run whose process died is taken over that much sooner. WIRES
are those that it serves. With WORKFLOWS it has one of a text, one of a value, and one that asks.
"""

import os
from functools import partial

from scripted import scripted_agent

import hosting.app
from hosting.principal import Principal

if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
wires = os.environ.get("WIRES", "").split()
flows = []
if os.environ.get("WORKFLOWS"):
    from tests.support.flows import asking_flow, order_flow, text_flow

    flows = [text_flow, order_flow, asking_flow]
app = hosting.app.AgentFunctionApp(
    agents=[scripted_agent("Joker")],
    workflows=flows,
    enable_mcp_tool_trigger=True,
    wires=wires,
    principal=(lambda _: Principal("https://issuer.example", "ada")) if os.environ.get("OWNERS") else None,
)
app.add_agent(scripted_agent("quiet"), enable_http_endpoint=False)
