"""The scripted agent and the clerk on a host, with the wire.

Its streams are hardly ever silent, so that clients meet pings.
"""

import hosting.functions.answering
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk

hosting.functions.answering.PING_SECONDS = 0.005
app = AgentFunctionApp(agents=[scripted_agent("Joker"), clerk(print)], wires=["ag-ui"], client_tools=True)
