"""What an app leaves in its process ends with the test that began it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

from hosting.core.agent.agent_loop import AgentLoop
from tests.support.ended_apps import pytest_runtest_protocol

GUARD_SECONDS = 5.0


async def nothing() -> None:
    """A run that is over."""


def begun() -> tuple[AgentLoop, threading.Thread]:
    """Return a loop on which a run came to its end, with its thread."""
    before = set(threading.enumerate())
    loop = AgentLoop(1, name="a loop of this test")
    loop.result_of(nothing())
    (thread,) = [one for one in threading.enumerate() if one not in before and one.name == "a loop of this test"]
    return loop, thread


def end(wrapper: Any) -> None:
    """Have what it wraps be over."""
    with suppress(StopIteration):
        wrapper.send(None)


@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_loop_ends_with_the_test_that_began_it_unless_a_run_is_left_on_it(is_at_work: bool) -> None:
    """What is left there may be another test's concern: it is waited for, or its warnings are."""
    test = pytest_runtest_protocol()
    next(test)
    loop, thread = begun()
    if is_at_work:
        left = loop.submit(asyncio.sleep(GUARD_SECONDS * 1000))
        loop.result_of(nothing())  # the run has begun
    end(test)

    if is_at_work:
        assert thread.is_alive()
        left.cancel()
        loop.close()
    thread.join(GUARD_SECONDS)
    assert not thread.is_alive()
