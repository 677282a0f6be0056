"""Agents in orchestrations of a worker of one's own: the same proxy as in Azure Functions."""

from __future__ import annotations

import json

import pytest

from tests.hosting.console.console import Console


@pytest.mark.behaviour("console.orchestrations")
@pytest.mark.parametrize(
    ("role", "text", "code", "says"),
    [
        ("user", "fail", "run_failed", "Agent 'writer' failed; the log has the cause"),
        ("system", "hi", "refused", "The role 'system' is not allowed here."),
    ],
)
def test_a_run_without_an_answer_raises_the_error_of_every_host(
    console: Console, role: str, text: str, code: str, says: str
) -> None:
    """At the yield, with the run's code, or with the entity's own sentence."""
    status, output = console.result("with_a_substitute", {"role": role, "text": text})

    agent, error_code, detail = json.loads(output or "")
    assert (status, agent, error_code) == ("COMPLETED", "writer", code)
    assert detail.startswith(says)


@pytest.mark.behaviour("console.orchestrations")
def test_an_error_left_alone_fails_the_orchestration_and_names_agent_run_and_cause(console: Console) -> None:
    status, output = console.result("left_alone", "fail")

    assert status == "FAILED"
    assert "Agent 'writer', run " in (output or "")
    assert "secret" not in (output or "")


@pytest.mark.behaviour("console.orchestrations")
def test_an_agent_that_is_not_registered_fails_the_orchestration_at_once(console: Console) -> None:
    status, output = console.result("call_nobody", "hi")

    assert status == "FAILED"
    assert "No agent 'nobody' is registered with this app. Registered: 'writer', 'critic'." in (output or "")
