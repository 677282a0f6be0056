"""A real queue that two processes drain, one of which is killed in the middle: each message has one run."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from azure.storage.queue.aio import QueueServiceClient

from tests.faults.drained_queue import POISON, DrainedQueue
from tests.support.azurite import Azurite

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("triggers.two-hosts"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

STEPS = ("6", "signal 4", "end 4", "send_message 4", "delete_message 4")
POINTS = [f"{when} {step}" for when in ("after", "before") for step in STEPS]
IN_THE_GATE = "after 6"
GUARD_SECONDS = 90.0
SECONDS_FOR_EACH = 0.4
MESSAGES = 10_000


@pytest.fixture
async def queue(azurite: Azurite, tmp_path: Path) -> AsyncIterator[DrainedQueue]:
    """A queue of the test's own."""
    setting = azurite.connection_string
    async with QueueServiceClient.from_connection_string(setting) as account:
        yield DrainedQueue(account, setting, f"t{uuid.uuid4().hex[:16]}", tmp_path)


@pytest.mark.parametrize(
    "point", [pytest.param(each, marks=() if each == IN_THE_GATE else pytest.mark.explore) for each in POINTS]
)
async def test_each_message_has_one_run_though_one_of_two_processes_is_killed(queue: DrainedQueue, point: str) -> None:
    """None is lost, and two that cannot be answered are given up beside the others."""
    await one_run_each(queue, point, batch_size=4, least=20)


@pytest.mark.explore
@pytest.mark.timeout(GUARD_SECONDS + MESSAGES * SECONDS_FOR_EACH)
async def test_ten_thousand_messages_have_one_run_each(queue: DrainedQueue) -> None:
    """One of the two processes is killed at about a tenth."""
    await one_run_each(queue, "after 2000", batch_size=16, least=MESSAGES)


async def one_run_each(queue: DrainedQueue, point: str, batch_size: int, least: int) -> None:
    """Have a queue drained, and count."""
    with queue.hosts(point, batch_size) as victim:
        async with asyncio.timeout(GUARD_SECONDS + least * SECONDS_FOR_EACH):
            count = await queue.drain(least, victim, ahead=6 * batch_size)
            given_up = await queue.given_up()

    assert sorted(queue.answers) == sorted(f"echo: message {number}" for number in range(count))
    assert {len(runs) for runs in queue.answers.values()} == {1}
    assert (given_up, queue.runs()) == (set(POISON), count + 1)
