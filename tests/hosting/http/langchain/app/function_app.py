"""The scripted agent, the clerk, the obedient agent and the thinker on a host, with both of OpenAI's wires."""

import hosting.app
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk
from tests.support.obedient import obedient

app = hosting.app.AgentFunctionApp(
    agents=[scripted_agent("Joker"), clerk(print)], wires=["responses", "chat-completions"], client_tools=True
)
app.add_agent(
    obedient("Obedient"),
    options={"temperature": (0, 1), "max_tokens": 200, "reasoning_effort": ["low"], "tool_choice": ["required"]},
)
