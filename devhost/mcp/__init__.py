"""The MCP endpoint of the local host: the app's tools, resources and prompts over streamable HTTP."""
