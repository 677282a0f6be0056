"""The MCP endpoint of the local host: the app's tools over streamable HTTP."""
