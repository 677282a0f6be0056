"""Places that hang: they keep no other one from what it gets, and lose nothing that they are to get themselves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable

import pytest

from hosting.core.thread.run_request import OF_TASK
from hosting.errors import AttachmentsUnavailableError, EngineUnavailableError
from hosting.features.webhooks import send_slots as bounds
from hosting.features.webhooks.client import Posted
from hosting.features.webhooks.delivery import HELD_SECONDS, WAITING_SECONDS
from hosting.features.webhooks.send_slots import SendSlots, Slot
from hosting.features.webhooks.webhooks import logger as webhook_logger
from hosting.http.verbs import Receiver
from hosting.invocation import TASK_MARK, begin_invocation
from tests.hosting.features.webhooks.yard import HANGS, Yard
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, ask, served
from tests.support.process import ADDRESS
from tests.support.receiver import GUARD_SECONDS, WEBHOOKS, receiving

pytestmark = pytest.mark.behaviour("webhooks.apart")


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    made = Yard()
    yield made
    made.process.loop.close()


@pytest.mark.behaviour("webhooks.again")
async def test_what_hangs_is_tried_by_nobody_else_until_it_is_over_and_then_if_its_process_died(yard: Yard) -> None:
    """Signals that come twice find that somebody has it; its clock has it tried later, in any process."""
    order = await yard.end()
    await yard.deliver(order)
    await yard.deliver(order)
    yard.now += HELD_SECONDS - 1
    await yard.deliver(order)
    await yard.wake()
    before = len(yard.posts)
    yard.abandon()
    yard.now += 1
    yard.gate.set()
    await yard.wake()
    await yard.until_taken(order)

    assert (before, len(yard.posts), len(set(yard.posts))) == (1, 2, 1)


@pytest.mark.behaviour("webhooks.again")
@pytest.mark.parametrize("away", ["engine", "hub.log", "hub.not-taken"])
async def test_a_process_that_dies_while_it_leaves_an_operation_leaves_one_that_is_tried_again(
    yard: Yard, away: str
) -> None:
    """By its signal, which is delivered again, or by its clock; and nothing is left in the end."""
    order = await yard.end()
    yard.store.away, yard.engine.is_away = away, away == "engine"
    with pytest.raises((AttachmentsUnavailableError, EngineUnavailableError)):
        await yard.deliver(order)
    yard.abandon()
    yard.store.away, yard.engine.is_away = "", False
    yard.gate.set()
    await yard.deliver(order)
    for _ in range(2):
        yard.now += HELD_SECONDS
        await yard.wake()
    await yard.until_taken(order)

    assert len(set(yard.posts)) == 1


@pytest.mark.parametrize(("url", "prompt_seconds"), [("https://busy.example/", 5.0), (HANGS, 0.0), (OF_TASK, 5.0)])
async def test_what_is_logged_of_a_try_reaches_azure(
    yard: Yard, caplog: pytest.LogCaptureFixture, url: str, prompt_seconds: float
) -> None:
    """It has the id of its operation, which is over before a receiver that hangs has been given up; a task's too."""
    order, marks = await yard.end(url), list[str]()

    def note(record: logging.LogRecord) -> bool:
        if record.name == webhook_logger.name:  # other threads log too
            marks.append(getattr(asyncio.current_task(), TASK_MARK, ""))
        return True

    caplog.set_level(logging.INFO, webhook_logger.name)
    caplog.handler.addFilter(note)
    yard.answer = Posted(503)
    webhooks = yard.webhooks(prompt_seconds)
    webhooks.receivers.update_of = lambda run, terminal: {}
    await webhooks.receivers.store.put(ADDRESS, 0, order.run_id, Receiver(id="p", url="https://busy.example/"))

    async def operation() -> None:
        setattr(asyncio.current_task(), TASK_MARK, "invocation 1")
        begin_invocation()
        await yard.deliver(order, webhooks)

    await asyncio.create_task(operation())
    caplog.handler.removeFilter(note)  # it is all tests' handler

    assert marks == ["invocation 1"]
    assert order.run_id in caplog.text


async def test_a_slow_receiver_that_answers_gets_all_of_it_once_a_few_at_a_time(yard: Yard) -> None:
    """Those that have no slot wait for one in memory, and no clock is needed."""
    orders = [await yard.end() for _ in range(3 * bounds.MOST_OF_HOST)]
    webhooks = yard.webhooks()
    for order in orders:
        await yard.deliver(order, webhooks)
    held = len(yard.posts)
    yard.gate.set()
    await yard.until_taken(*orders)

    assert held == yard.most_at_work == bounds.MOST_OF_HOST
    assert sorted(yard.posts) == sorted(f"{order.run_id}-run-completed" for order in orders)


@pytest.mark.slow
@pytest.mark.behaviour("service.leave")
async def test_an_app_that_is_to_end_waits_for_a_receiver_that_is_being_tried() -> None:
    app = app_of(scripted_agent("Joker"), environ=WEBHOOKS)
    async with receiving() as receiver, served(app) as (host, http):
        receiver.statuses = [0]
        await ask(http, "say hello", thread_id="t", webhook=receiver.url)
        await receiver.next()
        await host.entities.idle()
        ending = asyncio.ensure_future(app._drain(GUARD_SECONDS))
        is_early = bool((await asyncio.wait((ending,), timeout=0.1))[0])
        receiver.is_over.set()
        await ending
        shown = (await http.get("/api/agents/Joker/threads/t/webhooks")).json()["deliveries"]

    assert (is_early, [one["state"] for one in shown]) == (False, ["delivered"])


@pytest.mark.behaviour("service.leave")
async def test_a_process_that_is_to_end_begins_nothing_that_waits_and_keeps_what_answers_in_time(yard: Yard) -> None:
    """A receiver that has taken it is not sent it again by the next process; one that hangs on holds nobody up."""
    orders = [await yard.end() for _ in range(2 * bounds.MOST_OF_HOST)]
    webhooks = yard.webhooks()
    for order in orders:
        await yard.deliver(order, webhooks)
    await asyncio.wait_for(webhooks.drain(0.0), GUARD_SECONDS)
    ending = asyncio.ensure_future(webhooks.drain(GUARD_SECONDS))
    yard.gate.set()
    await asyncio.wait_for(ending, GUARD_SECONDS)
    states = [(await yard.record(order)).state for order in orders]

    assert states == ["delivered"] * bounds.MOST_OF_HOST + ["waiting"] * bounds.MOST_OF_HOST
    assert len(yard.posts) == bounds.MOST_OF_HOST


class Turns:
    """The slots of a process; `begun` are those that were waited for, by the names of who waited."""

    def __init__(self) -> None:
        self.now = 0.0
        self.begun: list[tuple[str, Slot]] = []
        self.slots = SendSlots(lambda: self.now)
        self._waiting = set[asyncio.Task[None]]()

    async def send(self, url: str, sender: str = "mallory", name: str = "r") -> Slot | None:
        slot = self.slots.take(sender, url)
        if slot is None:
            task = asyncio.ensure_future(self._wait(url, sender, name))
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)
            await asyncio.sleep(0)
        return slot

    async def _wait(self, url: str, sender: str, name: str) -> None:
        if (slot := await self.slots.acquire(sender, url)) is not None:
            self.begun.append((name, slot))

    async def hang(self, url: str, sender: str = "mallory") -> Slot | None:
        slot = await self.send(url, sender)
        if slot is not None:
            self.slots.mark_slow(slot)
        return slot

    async def answer(self, slot: Slot | None) -> None:
        assert slot is not None
        self.slots.mark_over(slot)
        await self.give_back([slot])

    async def give_back(self, slots: Iterable[Slot | None]) -> None:
        for slot in slots:
            if slot is not None:
                self.slots.release(slot)
        for _ in range(3):
            await asyncio.sleep(0)

    async def drain(self) -> int:
        over = 0
        while over < len(self.begun):
            self.now += 1e-6
            await self.give_back([self.begun[over][1]])
            over += 1
        return over


async def test_what_has_waited_for_long_is_left_to_its_clock() -> None:
    turns = Turns()
    slot, *_ = [await turns.hang("https://h.example/") for _ in range(bounds.MOST_OF_HOST + 2)]
    turns.now += WAITING_SECONDS
    await turns.send("https://h.example/", name="newer")
    await turns.give_back([slot])

    assert [name for name, _ in turns.begun] == ["newer"]
