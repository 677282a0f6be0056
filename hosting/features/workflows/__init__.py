"""Workflows beside the agents."""
