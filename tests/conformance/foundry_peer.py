"""The same agent under agent-framework-foundry-hosting, as in a container of Foundry's, with its stores in files."""

from __future__ import annotations

from agent_framework import Agent
from agent_framework_foundry_hosting import ResponsesHostServer
from azure.ai.agentserver.responses import ResponsesServerOptions

from tests.conformance.model import Client, refund, step
from tests.conformance.serving import serve

agent = Agent(Client(), "Answer.", name="Assistant", tools=[refund, step])
app = ResponsesHostServer(agent, options=ResponsesServerOptions(default_model="agent"))

if __name__ == "__main__":
    serve(app)
