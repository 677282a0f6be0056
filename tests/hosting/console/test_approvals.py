"""Tool calls that a person approves, of agents on a worker of your own."""

from __future__ import annotations

from typing import Any

import pytest
from durabletask.client import TaskHubGrpcClient
from durabletask.worker import TaskHubGrpcWorker

from hosting.console.client import AgentClient
from hosting.console.worker import AgentWorker
from tests.hosting.console.task_hub import task_hub
from tests.support.clerk import clerk


@pytest.mark.slow
@pytest.mark.behaviour("approvals.orchestrations")
def test_a_client_gets_the_requests_and_brings_the_answers(options: dict[str, Any]) -> None:
    notes: list[str] = []
    with task_hub() as address:
        worker = AgentWorker(TaskHubGrpcWorker(host_address=address), **options)
        worker.add_agent(clerk(notes.append))
        hub = TaskHubGrpcClient(host_address=address)
        with worker, AgentClient(hub, **options) as client:
            agent = client.get_agent("Clerk")
            session = agent.create_session()
            paused = agent.run("call refund 5", session=session)
            answers = [request.to_function_approval_response(True) for request in paused.user_input_requests]
            resumed = agent.run(answers, session=session)

    assert (paused.text, resumed.text, len(notes)) == ("One moment.", "told: refunded 5", 1)
