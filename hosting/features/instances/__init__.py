"""Workflows by the routes and names of agent-framework-azurefunctions."""
