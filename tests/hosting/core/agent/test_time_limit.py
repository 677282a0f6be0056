"""How long a run may take: an agent's own limit, inside the platform's."""

import json
import math
import uuid
from pathlib import Path
from typing import Any

import pytest

from hosting.app import AgentFunctionApp
from hosting.core.agent.time_limits import TimeLimit
from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import direct_api
from tests.support.direct import DirectHost


def app_in(folder: Path, patch: pytest.MonkeyPatch, timeout: Any = None, **environ: str) -> AgentFunctionApp:
    """Return an app whose folder has a host.json with this functionTimeout."""
    host = {"version": "2.0"} if timeout is None else {"version": "2.0", "functionTimeout": timeout}
    (folder / "host.json").write_text(json.dumps(host), encoding="utf-8")
    patch.chdir(folder)
    return AgentFunctionApp(environ={"AGENT_LOG": "memory", **environ})


@pytest.mark.behaviour("hosting.run-limit-per-agent")
async def test_an_agent_with_a_limit_of_its_own_is_stopped_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_in(tmp_path, monkeypatch)
    app.add_agent(scripted_agent("hasty"), run_timeout_seconds=0.02)
    app.add_agent(scripted_agent("patient"))
    api = direct_api(DirectHost(app), tmp_path / "none")

    body = {"message": "sleep 0.06", "thread_id": f"t-{uuid.uuid4().hex[:12]}"}
    hasty = await api.http.post("/api/agents/hasty/run", json=body)
    patient = await api.http.post("/api/agents/patient/run", json=body)

    assert (hasty.status_code, hasty.json()["code"]) == (504, "run_timed_out")
    assert hasty.json()["detail"] == "Agent 'hasty' ran longer than its 0.02 s and was stopped."
    assert patient.json()["response"] == "echo: sleep 0.06"


@pytest.mark.behaviour("hosting.run-limit-per-agent")
@pytest.mark.parametrize(
    ("timeout", "environ", "refusal"),
    [
        (
            "00:05:00",
            {"AGENT_ATTEMPT_SECONDS": "290"},
            "AGENT_ATTEMPT_SECONDS is 290 s and the platform ends a function after 300 s. "
            "Choose at most 275, or raise functionTimeout in host.json.",
        ),
        (
            "00:00:29",
            {},
            "functionTimeout is 29 s: an attempt of a run needs at least 30. Raise it in host.json.",
        ),
    ],
)
def test_attempts_that_the_platform_would_cut_are_refused_at_start_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: str, environ: dict[str, str], refusal: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_in(tmp_path, monkeypatch, timeout, **environ)

    assert refused.value.detail == refusal


@pytest.mark.behaviour("run.attempts")
@pytest.mark.parametrize(
    ("limit", "attempts"),
    [
        (TimeLimit(300.0, 1800.0), (887.5, 1775.0)),
        (TimeLimit(300.0, 1800.0, 1775.0), (1775.0, 1775.0)),
        (TimeLimit(300.0, 30.0), (2.5, 5.0)),
        (TimeLimit(300.0, None), (math.inf, math.inf)),
        (TimeLimit(300.0, None, 60.0), (60.0, math.inf)),
    ],
)
def test_an_attempt_works_for_half_of_what_the_platform_leaves_it(
    limit: TimeLimit, attempts: tuple[float, float]
) -> None:
    """Or as long as it is set, also where the platform has no limit."""
    assert (limit.attempts.work_seconds, limit.attempts.longest_seconds) == attempts


@pytest.mark.behaviour("run.attempts")
def test_a_run_may_take_days_whatever_the_platform_leaves_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the agent's own limit, or by the setting: a run takes as many attempts as it needs."""
    app = app_in(tmp_path, monkeypatch, "00:05:00", AGENT_RUN_TIMEOUT_SECONDS="2592000")

    app.add_agent(scripted_agent("Joker"), run_timeout_seconds=864_000)


@pytest.mark.parametrize("seconds", [0, 2_592_000.125, float("nan")])
def test_what_is_no_limit_is_refused(seconds: float) -> None:
    """Above 0 and at most thirty days; the value is quoted as it was given."""
    sentence = f" is {seconds} s: it must be above 0 and at most 2592000 \\(30 days\\)"
    with pytest.raises(ConfigurationError, match=sentence):
        TimeLimit(300, None).of("Joker", seconds)
