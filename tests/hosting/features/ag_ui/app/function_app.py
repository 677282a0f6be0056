"""The scripted agent, the clerk, the painter, and one that says what its model was shown, on a host, with the wire.

Its streams are hardly ever silent, so that clients meet pings.
"""

import hosting.functions.answering
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk
from tests.support.obedient import obedient
from tests.support.painter import painter
from tests.support.steered import Working

hosting.functions.answering.PING_SECONDS = 0.005
agents = [scripted_agent("Joker"), clerk(print), painter(), Working("Shown", rounds=0).agent]
app = AgentFunctionApp(agents=agents, wires=["ag-ui"], client_tools=True)
app.add_agent(obedient("Obedient"), options={"temperature": (0, 1), "max_tokens": 200})
