"""Runs that are tried again inside the run: how often, after which pauses, and what is not done twice."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from agent_framework import AgentResponse, ChatResponse, Message

from hosting.core.agent.held_run import read_run
from hosting.core.request.contents import limits_of
from hosting.core.request.fields import carried_request
from hosting.core.thread.commands import CancelRun
from hosting.core.thread.events import Claimed, Failed
from hosting.core.thread.run import Run
from hosting.errors import InvalidFieldError
from hosting.options import Retry
from hosting.settings import read_settings
from tests.support.bench import ADDRESS, Bench, answer
from tests.support.planned import PlannedClient, planned_agent

TWICE = {"attempts": 2, "first_pause_seconds": 0.001}
LIMITS = limits_of(None, read_settings({}))


class FailingFirst:
    """Raises so many times, then answers."""

    def __init__(self, times: int) -> None:
        self.left = times

    async def __call__(self, text: str) -> AgentResponse[Any]:
        """Work as an agent does."""
        self.left -= 1
        if self.left >= 0:
            raise RuntimeError("the model is busy")
        return await answer(text)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """An entity with nothing stored."""
    bench = Bench()
    yield bench
    bench.loop.close()


def order(retry: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Return what an orchestration's call carries."""
    return {"message": "hi", "correlationId": "run-1", "retry": retry, **more}


@pytest.mark.behaviour("retry.inside-the-run")
@pytest.mark.parametrize(("retry", "runs"), [(None, 1), ({**TWICE, "attempts": 5}, 5)])
async def test_a_run_whose_attempts_all_fail_ends_as_failed(bench: Bench, retry: dict[str, Any], runs: int) -> None:
    """More attempts than crashes are forgiven count no crash."""
    bench.agent.work = FailingFirst(100)

    await bench.deliver(order(retry), signal=False)

    assert isinstance(await bench.terminal("run-1"), Failed)
    assert len(bench.agent.seen) == runs


@pytest.mark.behaviour("retry.per-call-and-agent")
async def test_a_request_without_a_retry_has_the_agent_s_own() -> None:
    bench = Bench(retry=Retry(attempts=4, first_pause_seconds=0))
    bench.agent.work = FailingFirst(3)

    await bench.run("hi")
    bench.loop.close()

    assert len(bench.agent.seen) == 4


@pytest.mark.behaviour("retry.time-limit")
async def test_no_attempt_begins_behind_the_run_s_time_limit(bench: Bench) -> None:
    bench.agent.work = FailingFirst(1)
    patient = {"attempts": 2, "first_pause_seconds": bench.settings.run_timeout_seconds}

    await bench.deliver(order({**patient, "longest_pause_seconds": 86_400}), signal=False)

    assert isinstance(await bench.terminal("run-1"), Failed)
    assert len(bench.agent.seen) == 1


@pytest.mark.behaviour("retry.survives-crashes")
async def test_a_crash_forgets_no_failure_and_no_failure_counts_as_a_crash(bench: Bench) -> None:
    """The first attempt fails, the process of the second ends, two more fail: three failures and no more."""
    hangs = threading.Event()

    async def work(_: str) -> AgentResponse[Any]:
        if len(bench.agent.seen) == 2:
            hangs.set()
            await asyncio.Event().wait()
        raise RuntimeError("the model is busy")

    bench.agent.work = work
    request = order({**TWICE, "attempts": 3})
    dying = asyncio.ensure_future(bench.deliver(request, signal=False, commit=False))
    assert await asyncio.to_thread(hangs.wait, 5)
    dying.cancel()
    bench.restart()
    await bench.deliver(request, signal=False)

    claims = [event.failed for event in await bench.run_events("run-1") if isinstance(event, Claimed)]
    assert claims == [None, "run_failed", None, "run_failed"]
    assert len(bench.agent.seen) == 4
    assert (await bench.kinds("run-1"))[-1] == "failed"


@pytest.mark.slow
@pytest.mark.behaviour("retry.cancelled")
async def test_a_cancel_ends_the_pause(bench: Bench) -> None:
    bench.agent.work = FailingFirst(1)
    patient = order({"attempts": 2, "first_pause_seconds": 60})
    running = asyncio.ensure_future(bench.deliver(patient, signal=False))
    await asyncio.wait_for(until_retried(bench), 5)
    await bench.services.log.execute(ADDRESS, CancelRun(time.time(), "run-1"))

    result = await asyncio.wait_for(running, 5)

    assert result["status"] == "cancelled"
    assert len(bench.agent.seen) == 1


async def until_retried(bench: Bench) -> None:
    """Return once the run is claimed for its second attempt."""
    while True:
        record = await read_run(bench.services.log, ADDRESS, "run-1")
        if isinstance(record, Run) and record.failures:
            return
        await asyncio.sleep(0)


class BusyOnce(PlannedClient):
    """The planned model, whose second call fails the first time that it is made."""

    is_busy = True

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        if messages[-1].role == "tool" and self.is_busy:
            self.is_busy = False
            raise RuntimeError("the model is busy")
        return await super()._answer(messages)


@pytest.mark.behaviour("retry.tools-once")
async def test_another_attempt_calls_no_tool_again_and_asks_no_answered_question() -> None:
    notes: list[str] = []
    agent = planned_agent(notes.append, [("add",), "all done"])
    agent.client = BusyOnce()
    agent.client.note, agent.client.plan = notes.append, [("add",), "all done"]
    bench = Bench(agent)

    result = await bench.deliver(order(TWICE), signal=False)
    bench.loop.close()

    assert result["response"] == "all done"
    assert [note.partition(" run-")[0] for note in notes] == ["model 1", "add", "model 2"]


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
        ({"longest_pause_seconds": None}, "retry.longest_pause_seconds is None."),
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
