"""An agent with the wire."""

import hosting.app
from tests.support.app.scripted import scripted_agent

app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")], wires=["mcp"])
