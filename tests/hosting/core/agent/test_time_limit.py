"""How long a run may take: an agent's own limit, inside the platform's."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from pathlib import Path
from typing import Any

import pytest

from hosting.app import AgentFunctionApp
from hosting.core.agent.time_limits import AttemptTimes, TimeLimit
from hosting.core.thread.events import Completed, Released, TimedOut
from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import direct_api
from tests.support.direct import DirectHost
from tests.support.long_run import LongRun


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
            "AGENT_ATTEMPT_SECONDS is 290 s and the platform ends a function after 300 s. Choose at most 275, or raise",
        ),
        ("00:00:29", {}, "functionTimeout is 29 s: an attempt of a run needs at least 30. Raise it in host.json."),
    ],
)
def test_attempts_that_the_platform_would_cut_are_refused_at_start_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: str, environ: dict[str, str], refusal: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_in(tmp_path, monkeypatch, timeout, **environ)

    assert refused.value.detail.startswith(refusal)


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


SHORT = AttemptTimes(work_seconds=3600.0, longest_seconds=0.3)
HELP = "that takes longer than an attempt of a run may. Have a tool begin such work as an orchestration or a background"


@pytest.mark.behaviour("run.long-steps")
@pytest.mark.parametrize(
    ("slow", "in_tool", "stopped_in", "made", "releases"),
    [
        ({3: 1}, False, None, 5, 1),
        ({3: 1}, True, "a call of tool 'step'", 3, 0),
        ({1: 9}, False, "a step", 0, 0),
    ],
    ids=["a-model-call", "a-tool-that-is-called-once", "the-first-step"],
)
async def test_a_model_call_that_is_cut_off_is_made_again_and_no_other_step_that_takes_too_long(
    slow: dict[int, int], in_tool: bool, stopped_in: str | None, made: int, releases: int
) -> None:
    """What came before it is replayed; of a first step another attempt could leave out nothing.

    A tool is not called a second time, and the sentence says what to do.
    """
    slow = dict(slow)

    async def work(number: int) -> None:
        if slow.get(number, 0):
            slow[number] -= 1
            await asyncio.sleep(3.0)

    async def nothing(number: int) -> None:
        return

    before, at_step = (nothing, work) if in_tool else (work, nothing)
    long = LongRun(5, TimeLimit(60.0, None), attempts=SHORT, before=before, at_step=at_step)
    end: Any = (await long.run()).end
    long.loop.close()

    assert list(long.made.values()) == [1] * made
    assert sum(isinstance(event, Released) for event in await long.events()) == releases
    assert isinstance(end, Completed if stopped_in is None else TimedOut)
    assert stopped_in is None or end.detail.startswith(f"Agent 'Joker' was stopped in {stopped_in} {HELP}")


@pytest.mark.parametrize("seconds", [0, 2_592_000.125, float("nan")])
def test_what_is_no_limit_is_refused(seconds: float) -> None:
    """Above 0 and at most thirty days; the value is quoted as it was given, and whose it is."""
    sentence = (
        f"run_timeout_seconds of agent 'Joker' is {seconds} s: it must be above 0 and at most 2592000 \\(30 days\\)"
    )
    with pytest.raises(ConfigurationError, match=sentence):
        TimeLimit(300, None).of("Joker", seconds)
