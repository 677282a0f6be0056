"""The same agent under the other package that keeps durable agents: the app that is taken over, and rolled back to."""

from agent_framework_azurefunctions import AgentFunctionApp
from scripted import scripted_agent

app = AgentFunctionApp(agents=[scripted_agent("Joker")])
