"""The scripted agent and the clerk on a host, with the wire."""

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk

app = AgentFunctionApp(agents=[scripted_agent("Joker"), clerk(print)], wires=["ai-sdk"], client_tools=True)
