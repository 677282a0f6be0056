"""The scripted agent, the clerk and the obedient agent on a host, with both of OpenAI's wires."""

import hosting.app
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk
from tests.support.obedient import obedient
from tests.support.openai_wires import DECLARED_BY_EACH

app = hosting.app.AgentFunctionApp(
    agents=[scripted_agent("Joker"), clerk(print)], wires=["responses", "chat-completions"], client_tools=True
)
app.add_agent(obedient("Obedient"), options=DECLARED_BY_EACH)
