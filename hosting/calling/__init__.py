"""Agents called by orchestrations and by Python code, and orchestrations called by tools."""
