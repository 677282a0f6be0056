"""One sample of agent-framework, hosted: the agents and workflows that it asks are given to the app as they are."""

import json
import os
from functools import partial
from pathlib import Path

from agent_framework import FunctionalWorkflow, FunctionalWorkflowDefinition, Workflow, WorkflowAgent

import hosting.app
from tests.framework_samples.collecting import collect

UNNAMED = "WorkflowBuilder-"  # and a random id: the framework's own name
LEASE_SECONDS = 2.0  # the runs of a killed process are to be taken over sooner than after the usual 20 s
hosting.app.Services = partial(hosting.app.Services, lease_seconds=LEASE_SECONDS, margin_seconds=LEASE_SECONDS / 2)

collected = collect(Path(os.environ["SAMPLE"]))
of_agents = [asked.subject.workflow for asked in collected.asked if isinstance(asked.subject, WorkflowAgent)]
workflows = {}
agents = {}
for number, asked in enumerate(collected.asked):
    subject = asked.subject
    if subject in of_agents:
        continue  # its agent asks it
    subject = asked.given
    if isinstance(subject, (Workflow, FunctionalWorkflow, FunctionalWorkflowDefinition)):
        is_unnamed = subject.name.startswith(UNNAMED)
        workflows.setdefault(f"workflow-{number}" if is_unnamed else subject.name, asked)
    else:
        if not subject.name or subject.name.startswith(UNNAMED):  # the sample gives it none, and a hosted agent has one
            subject.name = f"agent-{number}"
        agents.setdefault(subject.name, asked)

Path(os.environ["SAMPLE_FOUND"]).write_text(
    json.dumps(
        {
            "ended_by": collected.ended_by,
            "agents": {name: asked.message for name, asked in agents.items()},
            "workflows": {name: asked.message for name, asked in workflows.items()},
        }
    ),
    encoding="utf-8",
)
app = hosting.app.AgentFunctionApp(
    agents=[asked.given for asked in agents.values()],
    workflows={name: asked.given for name, asked in workflows.items()},
    enable_mcp_tool_trigger=False,
)
