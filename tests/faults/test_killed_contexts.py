"""The context of a run under SIGKILL: its app killed around each record, and another process that reads the same."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

from hosting.testing.agent_app import AgentApp
from hosting.testing.asking import RunAnswer
from tests.support.kept_in import KINDS, over
from tests.support.marked_app import Notes, source_of

pytestmark = pytest.mark.slow

SOURCE = source_of("context_reader", "context_reader")
CONTEXT = {"tenant": "a", "limits": {"refund": 50}}
SHOWN = json.dumps(CONTEXT, sort_keys=True)


def check_the_context(ask: Callable[..., RunAnswer], agent_app: AgentApp, notes: Notes) -> None:
    """The run is one, its code read the context alone, and the thread's metadata changed with it once."""
    answer = ask("call show 1", context=CONTEXT, metadata={"ticket": 7}, thread_metadata={"team": "red"})
    thread_url = f"{agent_app.url}/api/agents/Clerk/threads/{answer.thread_id}"
    thread = httpx.get(thread_url, trust_env=False).json()
    runs = httpx.get(f"{thread_url}/runs", trust_env=False).json()["runs"]

    readers = [line for line in notes.lines if not line.startswith("model ")]
    assert "shown 1" in answer.text
    assert {line.partition(" ")[2] for line in readers} == {SHOWN}
    assert {"tool", "provider", "middleware"} <= {line.partition(" ")[0] for line in readers}
    assert [(run["status"], run["metadata"]) for run in runs] == [("success", {"ticket": 7})]
    assert thread["metadata"] == {"team": "red"}


@pytest.mark.behaviour("context.survives-kill")
@pytest.mark.killed_at("each step")
def test_the_process_that_takes_over_a_run_gives_its_code_the_same_context(
    ask: Callable[..., RunAnswer], agent_app: AgentApp, notes: Notes
) -> None:
    """Around each record of the run."""
    check_the_context(ask, agent_app, notes)


@pytest.mark.behaviour("context.survives-kill")
@pytest.mark.killed_at("after the request was recorded")
@over("kept", *KINDS[1:])
def test_the_context_is_the_same_over_each_store(
    ask: Callable[..., RunAnswer], agent_app: AgentApp, notes: Notes
) -> None:
    """The process that takes over is the only one that runs the agent."""
    check_the_context(ask, agent_app, notes)
