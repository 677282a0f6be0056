"""An agent loop of a test's own."""

from collections.abc import Iterator

import pytest

from hosting.core.agent.agent_loop import AgentLoop


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    """The loop, with a few threads for tools, which is closed with the test."""
    loop = AgentLoop(tool_threads=4)
    yield loop
    loop.close()
