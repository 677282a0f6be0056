"""A tool that starts work which takes days, and tools that ask how it stands."""

import os
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
from agent_framework import Agent

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp
from hosting.tools import current, idempotent

Steps = Generator[Any, Any, Any]


@idempotent
async def start_report(topic: str) -> str:
    """Begin a report and return its id; it is ready when somebody has approved it."""
    return await current().orchestrations.start("write_report", {"topic": topic}, instance_id=f"report-{topic}")


@idempotent
async def report_status(report_id: str) -> str:
    """Tell how a report stands, or return it."""
    report = await current().orchestrations.status(report_id)
    return str(report.output if report.is_over else report.custom_status or "It is being written.")


async def approve_report(report_id: str) -> str:
    """Pass on that somebody approved the report."""
    await current().orchestrations.send_event(report_id, "Approved", True)
    return "The approval is passed on."


client = create_chat_client(os.environ)
writer = Agent(client=client, name="writer", instructions="Write one sentence.")
clerk = Agent(
    client=client,
    name="clerk",
    instructions="You look after reports. Tell the id of a report that you started.",
    tools=[start_report, report_status, approve_report],
)

app = AgentFunctionApp(agents=[clerk, writer])


@app.orchestration_trigger(context_name="context")
def write_report(context: df.DurableOrchestrationContext) -> Steps:
    """Return the report once somebody has approved it, however long that takes."""
    draft = yield app.get_agent(context, "writer").run(f"Write about {context.get_input()['topic']}.")
    context.set_custom_status(f"It waits for an approval: {draft.text}")
    yield context.wait_for_external_event("Approved")
    return draft.text
