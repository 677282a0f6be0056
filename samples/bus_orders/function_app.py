"""Orders on Service Bus: the session of an order is its thread, so its messages are answered in their order."""

import os

import azure.functions as func
from agent_framework import Agent

from agents.models import create_chat_client
from hosting.app import SKIP, AgentFunctionApp, AgentRequest

orders = Agent(
    client=create_chat_client(os.environ),
    name="orders",
    description="Follows orders.",
    instructions="Say in one sentence how the order stands.",
)

app = AgentFunctionApp(agents=[orders])


@app.agent_trigger("orders")
@app.service_bus_queue_trigger(
    arg_name="message", queue_name="orders", connection="ServiceBus", is_sessions_enabled=True
)
def order(message: func.ServiceBusMessage) -> object:
    """Return the message of the order's session; one without words is no run."""
    text = message.get_body().decode().strip()
    return AgentRequest(text, thread_id=message.session_id) if text else SKIP
