"""The clerk, whose refunds a person approves, for clients that generators make."""

from hosting.app import AgentFunctionApp
from tests.support.clerk import clerk

app = AgentFunctionApp(agents=[clerk(print)])
