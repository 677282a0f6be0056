"""A tool that waits for the user's sign-in, under SIGKILL: its app killed around each record, and over each log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hosting.client.connection import RemoteAgentError
from hosting.testing.agent_app import AgentApp
from hosting.testing.asking import RunAnswer
from tests.support.kept_in import KINDS, over
from tests.support.marked_app import Notes, cuts_off, source_of

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("authorizations.survives-kill")]

SOURCE = source_of("signer", "signer")
Asks = Callable[..., RunAnswer]


def check_the_sign_in(ask: Asks, approve: Asks, agent_app: AgentApp, notes: Notes) -> None:
    """It is asked for once, the step before it is made once, and what follows it is made with it."""
    waiting = ask("call push 5")
    assert [asked["kind"] for asked in waiting.pending_approvals] == ["authorization"]
    answer = approve(waiting)
    runs = agent_app.read(f"agents/Clerk/threads/{answer.thread_id}/runs")["runs"]

    assert (answer.text, len(runs)) == ("told: branch 5 pushed by the app", 2)
    assert (notes.lines.count("reserve 5"), set(notes.lines)) == (1, {"reserve 5", "push 5"})


@pytest.mark.killed_at("each step")
def test_a_host_killed_around_a_sign_in_asks_once_and_makes_the_step_once(
    ask: Asks, approve: Asks, agent_app: AgentApp, notes: Notes, request: pytest.FixtureRequest
) -> None:
    """A step that was cut off ends the run."""
    if not cuts_off(request, "reserve"):
        check_the_sign_in(ask, approve, agent_app, notes)
        return
    with pytest.raises(RemoteAgentError) as ended:
        ask("call push 5")

    assert ended.value.code == "run_interrupted"
    assert notes.lines in ([], ["reserve 5"])


@pytest.mark.killed_at("after the decision was recorded")
@over("kept", *KINDS[1:])
def test_a_sign_in_outlives_a_kill_over_each_store(ask: Asks, approve: Asks, agent_app: AgentApp, notes: Notes) -> None:
    """It is recorded, and another process goes on with it."""
    check_the_sign_in(ask, approve, agent_app, notes)
