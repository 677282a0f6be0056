"""The scripted agent and the clerk on a host, with the wire."""

import hosting.app
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk

agents = [scripted_agent("Joker"), clerk(lambda note: None)]
app = hosting.app.AgentFunctionApp(agents=agents, wires=["mcp"])
