"""Runs that are tried again inside the run: how often, after which pauses, and what is not done twice."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, ChatResponse, Message

from hosting.app import AgentFunctionApp
from hosting.core.agent.time_limits import AttemptTimes, TimeLimit
from hosting.core.request.contents import limits_of
from hosting.core.request.fields import carried_request
from hosting.core.thread.commands import CancelRun
from hosting.core.thread.events import Claimed, Completed, Released, TimedOut
from hosting.errors import ConfigurationError, InvalidFieldError
from hosting.options import Retry
from hosting.settings import read_settings
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import direct_api
from tests.support.cluster.cluster import ADDRESS, AppProcess, Cluster
from tests.support.direct import DirectHost
from tests.support.long_run import LongRun
from tests.support.planned import PlannedClient, planned_agent

TWICE = {"attempts": 2, "first_pause_seconds": 0.001}
LIMITS = limits_of(None, read_settings({}))


def order(retry: dict[str, Any] | None) -> dict[str, Any]:
    """Return what an orchestration's call carries."""
    return {"message": "hi", "correlationId": "run-1", "retry": retry}


def failing(process: AppProcess, times: int = 100) -> AppProcess:
    """Return the process, whose agent fails so often."""
    process.agent.fails = [RuntimeError("the model is busy")] * times
    return process


async def outcome_of(process: AppProcess, retry: dict[str, Any] | None) -> tuple[str, int]:
    """Return how the run ends that has that retry, and how often its agent was run."""
    await process.operate(order(retry), is_signal=False)
    return (await process.terminal("run-1")).kind, len(process.agent.turns)


@pytest.mark.moved_time
@pytest.mark.behaviour("retry.inside-the-run")
@pytest.mark.parametrize(
    ("failures", "retry", "outcome"),
    [
        (100, None, ("failed", 1)),
        (100, {**TWICE, "attempts": 5}, ("failed", 5)),
        (1, TWICE, ("completed", 2)),
    ],
)
async def test_a_run_is_tried_as_often_as_it_says(
    app: AppProcess, failures: int, retry: dict[str, Any] | None, outcome: tuple[str, int]
) -> None:
    """More attempts than crashes are forgiven count no crash."""
    assert await outcome_of(failing(app, failures), retry) == outcome


@pytest.mark.moved_time
@pytest.mark.behaviour("retry.per-call-and-agent")
async def test_a_request_without_a_retry_has_the_agent_s_own() -> None:
    app = Cluster(registered={"retry": Retry(attempts=4, first_pause_seconds=0)}).process()

    assert await outcome_of(failing(app, 3), None) == ("completed", 4)


@pytest.mark.moved_time
@pytest.mark.behaviour("retry.time-limit")
async def test_no_attempt_begins_behind_the_run_s_time_limit(app: AppProcess) -> None:
    seconds = app.services.settings.run_timeout_seconds
    patient = {"attempts": 2, "first_pause_seconds": seconds, "longest_pause_seconds": 86_400}

    assert await outcome_of(failing(app), patient) == ("failed", 1)


@pytest.mark.moved_time
@pytest.mark.behaviour("retry.survives-crashes")
async def test_a_crash_forgets_no_failure_and_no_failure_counts_as_a_crash(cluster: Cluster) -> None:
    """The first attempt fails, the process of the second ends, two more fail: three failures and no more."""
    one, other = failing(cluster.process(), 1), failing(cluster.process())
    request = order({"attempts": 3, "first_pause_seconds": 1})
    dying = asyncio.ensure_future(one.operate(request, is_signal=False))
    await cluster.sleep(0.5)
    one.agent.gate.clear()
    await cluster.sleep(5)
    one.die()
    await other.operate(request, is_signal=False)
    dying.cancel()

    claims = [event.failed for event in await other.run_events("run-1") if isinstance(event, Claimed)]
    assert claims == [None, "run_failed", None, "run_failed"]
    assert (len(one.agent.turns), len(other.agent.turns), (await other.kinds())[-1]) == (2, 2, "failed")


@pytest.mark.moved_time
@pytest.mark.behaviour("retry.cancelled")
async def test_a_cancel_ends_the_pause(app: AppProcess) -> None:
    running = asyncio.ensure_future(outcome_of(failing(app, 1), {"attempts": 2, "first_pause_seconds": 60}))
    await asyncio.sleep(10)
    cancelled_at = app.cluster.wall()
    await app.log.execute(ADDRESS, CancelRun(cancelled_at, "run-1"))

    assert await running == ("cancelled", 1)
    assert app.cluster.wall() - cancelled_at < 10


class BusyOnce(PlannedClient):
    """The planned model, whose second call fails the first time that it is made."""

    is_busy = True

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        if messages[-1].role == "tool" and self.is_busy:
            self.is_busy = False
            raise RuntimeError("the model is busy")
        return await super().answer(messages, options)


@pytest.mark.moved_time
@pytest.mark.behaviour("retry.tools-once")
async def test_another_attempt_calls_no_tool_again_and_asks_no_answered_question() -> None:
    notes: list[str] = []

    def agent() -> Agent[Any]:
        made = planned_agent(notes.append)
        made.client = BusyOnce()
        made.client.note, made.client.plan = notes.append, [("look",), "all done"]
        return made

    result = await Cluster(agent).process().operate(order(TWICE), is_signal=False)

    assert result["response"] == "all done"
    assert [note.partition(" run-")[0] for note in notes] == ["model 1", "look", "model 2"]


@pytest.mark.moved_time
@pytest.mark.behaviour("retry.refused")
@pytest.mark.parametrize(
    ("retry", "says"),
    [
        ({"attempts": 0}, "retry.attempts is 0. Give a whole number from 1 to 100."),
        ({"first_pause_seconds": -1}, "retry.first_pause_seconds is -1. Give a number from 0 to 86400."),
        ({"first_pause_seconds": float("nan")}, "retry.first_pause_seconds is nan."),
        ({"backoff": "2"}, "retry.backoff is '2'. Give a number from 1 to 100."),
        ({"times": 3}, "The field 'retry' is {'times': 3}. Send an object of attempts, first_pause_seconds"),
    ],
)
def test_a_retry_that_is_none_is_refused(retry: Any, says: str) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        carried_request({"message": "hi", "retry": retry}, LIMITS)

    assert says in refused.value.detail


@pytest.mark.behaviour("retry.inside-the-run")
def test_pauses_grow_by_their_factor_up_to_the_longest() -> None:
    retry = Retry(attempts=5, first_pause_seconds=2, backoff=3, longest_pause_seconds=10)

    assert [retry.pause_seconds(failures) for failures in range(1, 6)] == [2, 6, 10, 10, None]


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
