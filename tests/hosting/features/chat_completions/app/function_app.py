"""The scripted agent and the clerk on a host, with the wire."""

import hosting.app
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk

app = hosting.app.AgentFunctionApp(
    agents=[scripted_agent("Joker"), clerk(print)], wires=["chat-completions"], client_tools=True
)
