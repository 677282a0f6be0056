"""How long a run may take: an agent's own limit, inside the platform's."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from hosting.app import AgentFunctionApp
from hosting.core.agent.hosted_agent import TimeLimit
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
    """The agent beside it goes on."""
    app = app_in(tmp_path, monkeypatch)
    app.add_agent(scripted_agent("hasty"), run_timeout_seconds=0.05)
    app.add_agent(scripted_agent("patient"))
    api = direct_api(DirectHost(app), tmp_path / "none")

    body = {"message": "sleep 0.2", "thread_id": f"t-{uuid.uuid4().hex[:12]}"}
    hasty = await api.http.post("/api/agents/hasty/run", json=body)
    patient = await api.http.post("/api/agents/patient/run", json=body)

    assert (hasty.status_code, hasty.json()["code"]) == (504, "run_timed_out")
    assert hasty.json()["detail"] == "Agent 'hasty' ran longer than its 0.05 s and was stopped."
    assert patient.json()["response"] == "echo: sleep 0.2"


@pytest.mark.behaviour("hosting.run-limit-per-agent")
def test_a_limit_that_the_platform_would_cut_is_refused_at_start_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says which longest one fits."""
    app = app_in(tmp_path, monkeypatch, "00:05:00")

    with pytest.raises(ConfigurationError) as refused:
        app.add_agent(scripted_agent("slow"), run_timeout_seconds=290)

    assert refused.value.detail == (
        "run_timeout_seconds of agent 'slow' is 290 s and the platform ends a function after 300 s. "
        "Choose at most 275, or raise functionTimeout in host.json."
    )


@pytest.mark.behaviour("hosting.run-limit-per-agent")
def test_the_setting_is_held_against_the_platform_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its default of 300 s does not fit into a functionTimeout of 5 minutes."""
    app = app_in(tmp_path, monkeypatch, "00:05:00")

    with pytest.raises(ConfigurationError, match=r"^AGENT_RUN_TIMEOUT_SECONDS is 300 s and the platform ends"):
        app.add_agent(scripted_agent("Joker"))


@pytest.mark.parametrize("seconds", [0, -1, 86_401, 1_234_567, 86_400.125, float("nan")])
def test_what_is_no_limit_is_refused(seconds: float) -> None:
    """Above 0 and at most a day; the value is quoted as it was given."""
    with pytest.raises(ConfigurationError, match=f" is {seconds} s: it must be above 0 and at most 86400"):
        TimeLimit(300, None).of("Joker", seconds)
