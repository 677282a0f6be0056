"""The timers of expiry and retention."""

from __future__ import annotations

import pytest

from hosting.app import AgentFunctionApp
from hosting.functions.timers import PROMISE_FUNCTION, PROMISE_SCHEDULE, RETENTION_FUNCTION, RETENTION_SCHEDULE
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import timers


@pytest.mark.behaviour("erasure.sweep")
def test_a_timer_asks_for_expired_threads_once_an_agent_has_a_time_to_live() -> None:
    """By its own or by the setting; one for all agents, at the chosen times. That of old events is always there."""
    environ = {"AGENT_LOG": "memory"}
    daily = {RETENTION_FUNCTION: RETENTION_SCHEDULE, PROMISE_FUNCTION: PROMISE_SCHEDULE}
    without = AgentFunctionApp(agents=[scripted_agent("one")], environ=environ)
    own = AgentFunctionApp(environ={**environ, "AGENT_SWEEP_SCHEDULE": "0 0 3 * * *"})
    for name in ("one", "two"):
        own.add_agent(scripted_agent(name), ttl_seconds=60)
    default = AgentFunctionApp(agents=[scripted_agent("one")], environ={**environ, "AGENT_THREAD_TTL_SECONDS": "60"})

    assert timers(without) == daily
    assert timers(own) == {**daily, "agents_sweep": "0 0 3 * * *"}
    assert timers(default) == {**daily, "agents_sweep": "0 */5 * * * *"}
