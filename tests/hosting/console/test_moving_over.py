"""A program of the ecosystem's own package, against agents of this worker: it changes its worker, and nothing else."""

from __future__ import annotations

import pytest
from agent_framework_durabletask import DurableAIAgentClient

from tests.hosting.console.console import Console


@pytest.mark.behaviour("console.moving-over")
def test_the_package_s_client_reaches_our_agents_and_reads_their_answers_in_the_thread(console: Console) -> None:
    """It signals a request of its own form and polls the stored conversation."""
    client = DurableAIAgentClient(console.task_hub(), max_poll_retries=50, poll_interval_seconds=0.1)
    writer = client.get_agent("writer")
    session = writer.create_session()

    first = writer.run("my name is Ada", session=session)
    second = writer.run("recall", session=session)

    assert (first.text, second.text) == ("echo: my name is Ada", "my name is Ada | recall")
