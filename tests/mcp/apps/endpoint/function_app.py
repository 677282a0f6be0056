"""An agent with the wire, and what the conformance scenarios call, each as a workflow that a user could write."""

from scenario_flows import FLOWS

import hosting.app
from tests.support.app.scripted import scripted_agent

app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")], workflows=FLOWS, wires=["mcp"])
