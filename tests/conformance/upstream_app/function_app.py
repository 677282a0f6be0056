"""The same agent under agent-framework-azurefunctions."""

from agent_framework import Agent
from agent_framework_azurefunctions import AgentFunctionApp

from tests.conformance.model import Client, step

app = AgentFunctionApp(agents=[Agent(Client(), "Answer.", name="Assistant", tools=[step])])
