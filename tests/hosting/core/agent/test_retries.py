"""Runs that are tried again inside the run: how often, after which pauses, and what is not done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Agent, ChatResponse, Message

from hosting.core.request.contents import limits_of
from hosting.core.request.fields import carried_request
from hosting.core.thread.commands import CancelRun
from hosting.core.thread.events import Claimed
from hosting.errors import InvalidFieldError
from hosting.options import Retry
from hosting.settings import read_settings
from tests.support.cluster.cluster import ADDRESS, AppProcess, Cluster
from tests.support.planned import PlannedClient, planned_agent

pytestmark = pytest.mark.moved_time

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


@pytest.mark.behaviour("retry.per-call-and-agent")
async def test_a_request_without_a_retry_has_the_agent_s_own() -> None:
    app = Cluster(registered={"retry": Retry(attempts=4, first_pause_seconds=0)}).process()

    assert await outcome_of(failing(app, 3), None) == ("completed", 4)


@pytest.mark.behaviour("retry.time-limit")
async def test_no_attempt_begins_behind_the_run_s_time_limit(app: AppProcess) -> None:
    seconds = app.services.settings.run_timeout_seconds
    patient = {"attempts": 2, "first_pause_seconds": seconds, "longest_pause_seconds": 86_400}

    assert await outcome_of(failing(app), patient) == ("failed", 1)


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


@pytest.mark.behaviour("retry.refused")
@pytest.mark.parametrize(
    ("retry", "says"),
    [
        ({"attempts": 0}, "retry.attempts is 0. Give a whole number from 1 to 100."),
        ({"attempts": 1.5}, "retry.attempts is 1.5. Give a whole number"),
        ({"attempts": True}, "retry.attempts is True."),
        ({"first_pause_seconds": -1}, "retry.first_pause_seconds is -1. Give a number from 0 to 86400."),
        ({"first_pause_seconds": float("nan")}, "retry.first_pause_seconds is nan."),
        ({"backoff": "2"}, "retry.backoff is '2'. Give a number from 1 to 100."),
        ({"times": 3}, "The field 'retry' is {'times': 3}. Send an object of attempts, first_pause_seconds"),
        (3, "The field 'retry' is 3. Send an object"),
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
