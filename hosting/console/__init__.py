"""Agents outside Azure Functions: over a worker and a client of the `durabletask` SDK."""
