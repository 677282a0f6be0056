"""Callers' requests: parsed, checked and refused in one room, over HTTP, MCP or from an orchestration."""
