"""The app that the endpoint tests run, directly and on the local host."""

from scripted import scripted_agent

from hosting.app import AgentFunctionApp

app = AgentFunctionApp(agents=[scripted_agent("Joker")], enable_mcp_tool_trigger=True)
app.add_agent(scripted_agent("quiet"), enable_http_endpoint=False)
