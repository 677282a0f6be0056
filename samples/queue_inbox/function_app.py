"""An inbox in a queue, answered into another: each message is one run."""

import json
import os

import azure.functions as func
from agent_framework import Agent

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp, AgentRun

support = Agent(
    client=create_chat_client(os.environ),
    name="support",
    description="Answers customers.",
    instructions="Answer in one sentence.",
)

app = AgentFunctionApp(agents=[support])


def answer(run: AgentRun) -> dict[str, str]:
    """Return what the queue of answers gets: with the run's id, by which a reader drops a repeated answer."""
    return {"run_id": run.run_id, "customer": run.thread_id, "answer": run.response}


@app.agent_trigger("support", thread_by="customer", on_end=answer)
@app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="answers", queue_name="answers", connection="AzureWebJobsStorage")
def inbox(message: func.QueueMessage) -> str:
    """Return the customer's words; the thread is the customer's."""
    return str(json.loads(message.get_body())["text"])
