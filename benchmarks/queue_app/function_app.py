"""The app that is measured, with an inbox in a queue: each message is one run of the agent, on a fresh thread."""

import azure.functions as func

from benchmarks.app.function_app import app


@app.agent_trigger("assistant")
@app.queue_trigger(arg_name="message", queue_name="%INBOX%", connection="AzureWebJobsStorage")
def inbox(message: func.QueueMessage) -> None:
    """Send the body."""
