"""The scripted agent in a process that kills itself before or after one step of its first turn.

The steps are those of `stepped`, and of a trigger's delivery its `end` and its `output`. `POST deliver` calls the
triggered function as the host does, and writes its output to the file ANSWERS.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import azure.functions as func
from scripted import scripted_agent

import hosting.app
from hosting.orchestrations import ENGINE
from tests.faults.stepped import stepped
from tests.support.deliveries import Out, queued


class IndexedApp(hosting.app.AgentFunctionApp):
    """The app, whose functions can be called here as the host calls them."""

    def get_functions(self) -> list[Any]:
        """Return the functions."""
        functions = super().get_functions()
        self.handlers = {each.get_function_name(): each.get_user_function() for each in functions}
        return functions


app = IndexedApp(agents=[scripted_agent("Joker")])


async def end(run: hosting.app.AgentRun) -> str:
    """Return the run and its answer."""

    async def answer() -> str:
        return f"{run.run_id} {run.response}"

    return await stepped("end", answer())


@app.agent_trigger("Joker", on_end=end)
@app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="answers", queue_name="answers", connection="AzureWebJobsStorage")
def inbox(message: func.QueueMessage) -> None:
    """Send the body."""


@app.route(route="deliver", methods=["POST"])
async def deliver(req: func.HttpRequest) -> func.HttpResponse:
    """Deliver a message with this body once more."""
    answers = Out()
    message = queued(req.get_body().decode(), tries=int(req.params["tries"]))
    await app.handlers["inbox"](message=message, answers=answers, agentsClient=ENGINE.get().client.sdk)

    async def write() -> None:
        with Path(os.environ["ANSWERS"]).open("a") as file:
            file.write(f"{answers.values[0]}\n")

    await stepped("output", write())
    return func.HttpResponse(answers.values[0])
