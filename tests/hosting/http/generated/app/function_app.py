"""The clerk, whose refunds a person approves, with all wires, for clients that generators make."""

from hosting.app import AgentFunctionApp
from tests.support.clerk import clerk

app = AgentFunctionApp(agents=[clerk(print)], wires=["responses", "a2a", "ag-ui"])
