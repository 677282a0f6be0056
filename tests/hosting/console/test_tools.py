"""Tools of agents on a console host that start work of days, or that a person approves."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from agent_framework import Agent
from durabletask.client import TaskHubGrpcClient
from durabletask.task import OrchestrationContext
from durabletask.worker import TaskHubGrpcWorker

from hosting.console.client import AgentClient
from hosting.console.worker import AgentWorker
from hosting.tools import current
from tests.hosting.console.console import GUARD_SECONDS, task_hub
from tests.support.clerk import ClerksClient, clerk


async def start_report(topic: str) -> str:
    """Begin a report."""
    return await current().orchestrations.start("write_report", {"topic": topic})


def report_status(report_id: str) -> str:
    """Tell how a report stands."""
    report = current().orchestrations.blocking.status(report_id)
    return f"{report.status} {report.output or report.custom_status}"


async def approve_report(report_id: str) -> str:
    """Pass an approval on."""
    await current().orchestrations.send_event(report_id, "Approved", {"by": "Ada"})
    return report_id


def write_report(context: OrchestrationContext, given: dict[str, str]) -> Generator[Any, Any, str]:
    """Wait for an approval."""
    context.set_custom_status("waits")
    approval = yield context.wait_for_external_event("Approved")
    return f"{given['topic']}, approved by {approval['by']}"


@dataclass(frozen=True)
class Office:
    """A reporter on a worker, and the clients that reach it."""

    hub: TaskHubGrpcClient
    client: AgentClient

    def reported(self, message: str) -> str:
        """Send the reporter a message, and return the last tool's result."""
        return str(self.client.get_agent("Reporter").run(message).text).rpartition("told: ")[2]


@pytest.fixture
def office(options: dict[str, Any]) -> Iterator[Office]:
    """The office, on an engine of this test's own."""
    with task_hub() as address, TaskHubGrpcClient(host_address=address) as hub:
        sdk_worker = TaskHubGrpcWorker(host_address=address)
        sdk_worker.add_orchestrator(write_report)
        worker = AgentWorker(sdk_worker, client=hub, **options)
        worker.add_agent(Agent(ClerksClient(), name="Reporter", tools=[start_report, report_status, approve_report]))
        with worker, AgentClient(hub, **options) as client:
            yield Office(hub, client)


@pytest.mark.slow
@pytest.mark.behaviour("console.tools")
def test_a_tool_starts_an_orchestration_and_others_ask_and_tell_it(office: Office) -> None:
    report = office.reported("call start_report topic=cats")
    office.hub.wait_for_orchestration_start(report, timeout=GUARD_SECONDS)
    assert office.reported(f"call approve_report report_id={report}") == report
    office.hub.wait_for_orchestration_completion(report, timeout=GUARD_SECONDS)

    assert office.reported(f"call report_status report_id={report}") == "Completed cats, approved by Ada"
    assert office.reported("call report_status report_id=nowhere").startswith("Error")


@pytest.mark.slow
@pytest.mark.behaviour("approvals.orchestrations")
def test_a_client_gets_the_requests_and_brings_the_answers(options: dict[str, Any]) -> None:
    notes: list[str] = []
    with task_hub() as address, TaskHubGrpcClient(host_address=address) as hub:
        worker = AgentWorker(TaskHubGrpcWorker(host_address=address), **options)
        worker.add_agent(clerk(notes.append))
        with worker, AgentClient(hub, **options) as client:
            agent = client.get_agent("Clerk")
            session = agent.create_session()
            paused = agent.run("call refund 5", session=session)
            answers = [request.to_function_approval_response(True) for request in paused.user_input_requests]
            resumed = agent.run(answers, session=session)

    assert (paused.text, resumed.text, len(notes)) == ("One moment.", "told: refunded 5", 1)
