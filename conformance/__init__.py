"""Scores any agent service on durable promises, over HTTP alone: `python -m conformance URL` (conformance.md)."""
