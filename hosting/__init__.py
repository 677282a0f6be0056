"""Agents as durable services on Azure Functions: the library that is deployed next to `function_app.py`."""
