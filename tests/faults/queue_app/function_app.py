"""An inbox in a real queue, in a process that kills itself around one step of a delivery.

The steps are those of `deaths`, the `end` of a delivery, and the storage's `send_message` and `delete_message`. Each
delivery is noted in the file DELIVERIES, with the receipt by which a test shows its message again.
"""

from __future__ import annotations

import os
from pathlib import Path

import azure.functions as func
from azure.storage.queue.aio import QueueClient
from scripted import scripted_agent

import hosting.app
from tests.faults.deaths import dies_around, dying

for verb in ("send_message", "delete_message"):
    dies_around(QueueClient, verb, verb)
app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")])


async def end(run: hosting.app.AgentRun) -> dict[str, str]:

    async def answer() -> dict[str, str]:
        return {"run_id": run.run_id, "answer": run.response}

    return dict(await dying({"end"}, answer))


@app.agent_trigger("Joker", on_end=end)
@app.queue_trigger(arg_name="message", queue_name="%INBOX%", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="answers", queue_name="%INBOX%-answers", connection="AzureWebJobsStorage")
async def inbox(message: func.QueueMessage) -> None:
    """Send the body; one of the bodies is poison."""
    with Path(os.environ["DELIVERIES"]).open("a") as file:
        file.write(f"{os.getpid()} {message.id} {message.pop_receipt}\n")
    if message.get_body() == b"poison":
        raise ValueError("a message that this function cannot take")
