"""MCP as a protocol of the app's own, with progress, questions and cancellation."""
