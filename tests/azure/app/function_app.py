"""The app for the figures: the template's own agent with the offline model, and one whose model takes a known time."""

from agents.assistant import create_assistant
from benchmarks.app.timed_model import timed_agent
from hosting.app import AgentFunctionApp
from hosting.offline.model import OfflineChatClient

model = OfflineChatClient()
model.WORD_SECONDS = 0  # the figures are the app's own time
agents = [create_assistant(model), timed_agent()]

app = AgentFunctionApp(agents=agents, enable_mcp_tool_trigger=True)
