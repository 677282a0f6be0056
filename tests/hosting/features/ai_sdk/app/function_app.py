"""The scripted agent, the clerk, one that shows its thoughts and one that says its model's options, with the wire."""

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk
from tests.support.obedient import obedient
from tests.support.thinker import thinker

app = AgentFunctionApp(agents=[scripted_agent("Joker"), clerk(print)], wires=["ai-sdk"], client_tools=True)
app.add_agent(obedient("Obedient"), options={"temperature": (0, 1), "max_tokens": 200})
app.add_agent(thinker(name="Thinker"), reasoning="show")
