"""Agents as durable services on Azure Functions: the library that is deployed beside `function_app.py`."""
