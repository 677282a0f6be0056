"""The app for the figures: the template's own agent with the offline model, and one whose model takes a known time."""

from agents.assistant import create_assistant
from agents.models import create_chat_client
from benchmarks.app.timed_model import timed_agent
from hosting.app import AgentFunctionApp

agents = [create_assistant(create_chat_client({})), timed_agent()]

app = AgentFunctionApp(agents=agents, enable_mcp_tool_trigger=True)
