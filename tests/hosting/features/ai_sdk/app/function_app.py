"""The scripted agent, the clerk, and one that says its model's options, on a host, with the wire."""

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk
from tests.support.obedient import obedient

app = AgentFunctionApp(agents=[scripted_agent("Joker"), clerk(print)], wires=["ai-sdk"], client_tools=True)
app.add_agent(obedient("Obedient"), options={"temperature": (0, 1), "max_tokens": 200})
