"""A document that is put into a container is summarised beside it: each writing of a blob is one run."""

import os

import azure.functions as func
from agent_framework import Agent

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp, AgentRun

writer = Agent(
    client=create_chat_client(os.environ),
    name="writer",
    description="Summarises documents.",
    instructions="Summarise the document in one sentence.",
)

app = AgentFunctionApp(agents=[writer])


def summary(run: AgentRun) -> str:
    """Return the summary alone: the blob is overwritten by a repeated one."""
    return run.response


@app.agent_trigger("writer", on_end=summary)
@app.blob_trigger(arg_name="document", path="documents/{name}", connection="AzureWebJobsStorage")
@app.blob_output(arg_name="summary", path="summaries/{name}", connection="AzureWebJobsStorage")
def documents(document: func.InputStream) -> str:
    """Return the request with the document's text."""
    return f"Summarise this document:\n\n{document.read().decode()}"
