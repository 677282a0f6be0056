"""Steps that are cut off by the end of their attempt: made again with more time, or the end of the run by name."""

from __future__ import annotations

import asyncio

import pytest

from hosting.core.agent.time_limits import AttemptTimes, TimeLimit
from hosting.core.thread.events import Completed, Event, Released, TimedOut
from tests.support.long_run import LongRun

SHORT = AttemptTimes(work_seconds=3600.0, longest_seconds=0.1)
TOO_LONG_SECONDS = 3.0
HELP = "that takes longer than an attempt of a run may. Have a tool begin such work as an orchestration or a background"


def cut_run(slow: dict[int, int], *, in_tool: bool, harmless: bool = False) -> LongRun:
    """Return a run of five steps; those of these numbers are too slow so many times, in the tool or in the model."""

    async def work(number: int) -> None:
        if slow.get(number, 0):
            slow[number] -= 1
            await asyncio.sleep(TOO_LONG_SECONDS)

    async def nothing(number: int) -> None:
        return

    before, at_step = (nothing, work) if in_tool else (work, nothing)
    return LongRun(5, TimeLimit(60.0, None), attempts=SHORT, before=before, at_step=at_step, harmless=harmless)


async def end_of(long: LongRun) -> tuple[Event | None, list[Event]]:
    """Return how the run ended, and its events."""
    run = await long.run()
    long.loop.close()
    return run.end, await long.events()


@pytest.mark.behaviour("run.long-steps")
async def test_a_model_call_that_is_cut_off_is_made_again_with_all_of_an_attempts_time() -> None:
    """It was the third step: what came before it is replayed."""
    long = cut_run({3: 1}, in_tool=False)

    end, events = await end_of(long)

    assert isinstance(end, Completed)
    assert sum(isinstance(event, Released) for event in events) == 1
    assert list(long.made.values()) == [1] * 5


@pytest.mark.behaviour("run.long-steps")
async def test_a_harmless_tool_that_is_cut_off_is_called_again() -> None:
    long = cut_run({3: 1}, in_tool=True, harmless=True)

    end, _ = await end_of(long)

    assert isinstance(end, Completed)
    assert list(long.made.values()) == [1, 1, 2, 1, 1]
    assert len(long.keys) == 5


@pytest.mark.behaviour("run.long-steps")
async def test_a_tool_that_is_called_once_and_takes_too_long_ends_its_run_by_name() -> None:
    """It is not called a second time, and the sentence says what to do."""
    long = cut_run({3: 1}, in_tool=True)

    end, _ = await end_of(long)

    assert isinstance(end, TimedOut)
    assert end.detail.startswith(f"Agent 'Joker' was stopped in a call of tool 'step' {HELP}")
    assert list(long.made.values()) == [1] * 3


@pytest.mark.behaviour("run.long-steps")
async def test_a_step_that_takes_longer_than_any_attempt_ends_its_run() -> None:
    """The second attempt begins with it and has no progress, so there is no third one."""
    long = cut_run({3: 9}, in_tool=True, harmless=True)

    end, events = await end_of(long)

    assert isinstance(end, TimedOut)
    assert HELP in end.detail
    assert sum(isinstance(event, Released) for event in events) == 1


@pytest.mark.behaviour("run.long-steps")
async def test_a_first_step_that_takes_too_long_is_not_made_again() -> None:
    """There is nothing that another attempt could leave out."""
    end, events = await end_of(cut_run({1: 9}, in_tool=False))

    assert isinstance(end, TimedOut)
    assert end.detail.startswith(f"Agent 'Joker' was stopped in a step {HELP}")
    assert [event.kind for event in events] == ["accepted", "claimed", "timed_out"]
