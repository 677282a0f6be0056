"""The app that the Functions host loads: every agent, hosted. Add yours to the list."""

import os

import hosting.start_up  # noqa: F401 - first, so that it prints what stops a start: Azure's host does not say it
from agents.assistant import create_assistant
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

chat_client = create_chat_client(os.environ)

app = AgentFunctionApp(agents=[create_assistant(chat_client)], enable_mcp_tool_trigger=True)
