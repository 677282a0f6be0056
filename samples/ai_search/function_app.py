"""An agent whose threads are found by Azure AI Search, where its settings name one."""

import os

from agent_framework import Agent

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

clerk = Agent(
    client=create_chat_client(os.environ),
    name="clerk",
    description="Answers questions about invoices.",
    instructions="Answer in one sentence.",
)

engine = None
if endpoint := os.environ.get("AZURE_SEARCH_ENDPOINT"):
    from ai_search import AiSearch

    engine = AiSearch(endpoint, key=os.environ.get("AZURE_SEARCH_KEY"))

app = AgentFunctionApp(agents=[clerk], search=engine)
