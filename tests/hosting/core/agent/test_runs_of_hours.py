"""Runs of as many attempts as they need: handed on between two steps, and each step is made once."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import tracemalloc
from functools import partial
from types import FrameType
from typing import Any

import pytest

from hosting.amounts import UNUSED, Used
from hosting.core.agent.time_limits import TimeLimit
from hosting.core.hooks import AgentHooks
from hosting.core.thread.events import Claimed, Completed, Failed, Released, TimedOut, ToolResult
from hosting.core.thread.run import Run
from hosting.features.metering.budgets import Budget
from hosting.features.metering.spending import Spending
from hosting.names import Address
from tests.support.long_run import TOKENS_OF_CALL, LongRun
from tests.support.warm_python import ROOT

HOUR = 3600.0
HALF_HOUR = TimeLimit(5 * HOUR, 1800.0)


def ended(long: LongRun, run: Any) -> tuple[str, int, set[int]]:
    """Return the kind of the run's end, how many of its steps were made, and how often each was."""
    assert run.end is not None
    return run.end.kind, len(long.made), set(long.made.values())


@pytest.mark.slow
@pytest.mark.behaviour("run.attempts")
async def test_a_run_of_four_hours_makes_each_step_once_through_kills_and_deployments(record_property: Any) -> None:
    """250 steps by a clock that the test moves: 10 processes are killed and 5 drain, beside the attempts' own ends."""
    died, drained = {*range(5, 30, 5), *range(225, 250, 5)}, set(range(60, 100, 8))

    async def before(number: int) -> None:
        if number in died:
            died.remove(number)
            long.die()
        elif number in drained:
            drained.remove(number)
            asyncio.run_coroutine_threadsafe(long.services.drain(0.02), home)

    home = asyncio.get_running_loop()
    long = LongRun(250, HALF_HOUR, step_seconds=4 * HOUR / 250, before=before)

    run = await long.run()
    claims = [event for event in await long.events() if isinstance(event, Claimed)]
    released = [event for event in await long.events() if isinstance(event, Released)]
    long.loop.close()

    assert (died, drained) == (set(), set())
    assert ended(long, run) == ("completed", 250, {1})
    assert len(long.keys) == 250
    assert run.attempts == len(claims) == 1 + len(released) + 10
    assert len(released) >= 5 + 6  # those of attempts that came to their end, beside the drained ones
    worked = [claim.worked for claim in claims]
    assert worked == sorted(worked)
    assert 0.9 * 4 * HOUR < worked[-1] <= 4 * HOUR
    record_property("measured", f"a run of 4 h: {run.attempts} attempts, {long.operations} operations")


@pytest.mark.behaviour("run.attempts")
async def test_a_run_ends_at_its_limit_over_all_attempts() -> None:
    """An hour is an hour, in however many attempts; what it has done until then is in its log."""
    long = LongRun(500, TimeLimit(HOUR, 1800.0), step_seconds=100.0)

    run = await long.run()
    long.loop.close()

    assert isinstance(run.end, TimedOut)
    assert run.end.detail == "Agent 'Joker' ran longer than its 3600 s and was stopped."
    assert len(long.made) == 36
    assert run.attempts == 5


class NoTasks:
    """The usage of background tasks where a run has begun none."""

    async def beside_run(self, run: Run) -> Used:
        return UNUSED

    async def beside_thread(self, address: Address) -> Used:
        return UNUSED


@pytest.mark.behaviour("run.attempts")
async def test_a_budget_of_a_run_is_of_all_its_attempts() -> None:
    """What an attempt used before it was handed on, or died, counts for those behind it."""
    died = {3, 7, 11}

    async def before(number: int) -> None:
        if number in died:
            died.remove(number)
            long.die()

    budget = Budget(tokens=20 * TOKENS_OF_CALL)
    meter = partial(Spending, budget=budget, days=None, minutes=None, tasks=NoTasks(), unpriced=set())
    hooks = AgentHooks(meter=meter)
    long = LongRun(40, HALF_HOUR, step_seconds=300.0, before=before, hooks=hooks)

    run = await long.run()
    long.loop.close()

    assert isinstance(run.end, Failed)
    assert (run.end.code, run.attempts > 6) == ("budget_exceeded", True)
    assert run.used.tokens == 20 * TOKENS_OF_CALL


@pytest.mark.behaviour("run.folded")
async def test_an_answer_with_too_many_steps_for_a_conversation_is_kept_without_the_older_ones() -> None:
    """Its text and its newest steps are there, and the log has all of them."""
    long = LongRun(100, HALF_HOUR, environ={"AGENT_STATE_LIMIT_BYTES": "16384"})

    run = await long.run()
    results = [event for event in await long.events() if isinstance(event, ToolResult)]
    stored = json.loads(long.state or "")["data"]["conversationHistory"]
    long.loop.close()

    assert isinstance(run.end, Completed)
    assert (run.end.kept, run.end.message_count) == (True, 1 + len(stored[1]["messages"]))
    assert len(results) == 100
    assert 20 < len(stored[1]["messages"]) < 200
    assert stored[1]["messages"][0]["contents"][0]["$type"] == "functionCall"
    assert stored[1]["messages"][-1]["contents"][0]["text"] == "all done"


class Calls:
    """Counts the functions of the product that are entered and resumed, in every thread that begins in the block."""

    def __init__(self) -> None:
        self.number = 0
        self._of_product: dict[str, bool] = {}

    def __enter__(self) -> Calls:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            name = frame.f_code.co_filename
            if (is_ours := self._of_product.get(name)) is None:
                is_ours = self._of_product[name] = name.startswith((f"{ROOT}/hosting/", f"{ROOT}/state/"))
            self.number += is_ours


@pytest.mark.slow
@pytest.mark.behaviour("run.flat")
async def test_a_step_costs_the_same_however_many_there_were_before(record_property: Any) -> None:
    """Work, bytes that are written and memory: the last 50 of 250 steps beside the first 50 of them.

    The work is counted, for what the framework does with the model's growing input is not ours.
    """
    entered, written, held = [0], [0], dict[int, int]()

    def at_step(number: int) -> None:
        entered.append(calls.number)
        written.append(long.store.written)
        if number in {3, 53, 201, 251}:
            gc.collect()
            held[number] = tracemalloc.get_traced_memory()[0]

    with Calls() as calls:
        long = LongRun(251, HALF_HOUR, at_step=at_step)
        await long.run()
        long.loop.close()
    tracemalloc.start()
    sized = LongRun(251, HALF_HOUR, at_step=at_step)
    await sized.run()
    sized.loop.close()
    tracemalloc.stop()

    more = {
        "work": (entered[251] - entered[201]) / (entered[53] - entered[3]),
        "bytes": (written[251] - written[201]) / (written[53] - written[3]),
        "memory": (held[251] - held[201]) / (held[53] - held[3]),
    }
    figures = ", ".join(f"{name} {growth:.2f}" for name, growth in more.items())
    record_property("measured", f"a step, the last 50 of 250 over the first 50: {figures}")
    assert max(more.values()) <= 1.1, figures
