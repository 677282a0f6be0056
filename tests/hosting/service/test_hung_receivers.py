"""Places that hang: they keep no other one from what it gets, and lose nothing that they are to get themselves."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hosting.errors import AttachmentsUnavailableError
from hosting.invocation import TASK_MARK, begin_invocation
from hosting.names import Address
from hosting.service import places as bounds
from hosting.service.deliveries import KEYS, WebhookOrder
from hosting.service.places import Place, Places, host_digest
from hosting.service.push_configs import PushConfig
from hosting.service.webhook_client import Posted, post
from hosting.service.webhook_notes import BEHIND_SECONDS, KEPT_SECONDS, MOST_OF_HOST, next_try
from hosting.service.webhooks import logger as webhook_logger
from hosting.thread.commands import DeleteThread
from hosting.webhooks import OF_TASK
from tests.hosting.service.process import ADDRESS, AGENT
from tests.hosting.service.webhook_yard import HANGS, Yard
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, ask, served
from tests.support.receiver import GUARD_SECONDS, WEBHOOKS, receiving

pytestmark = pytest.mark.behaviour("webhooks.apart")

DAY = 86_400.0


@asynccontextmanager
async def hanging(hosts: int) -> AsyncIterator[tuple[list[str], asyncio.Queue[None]]]:
    """Addresses at so many hosts that take connections and never answer, and one item for each connection."""
    held = asyncio.Queue[None]()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.put_nowait(None)
        writers.append(writer)

    writers = list[asyncio.StreamWriter]()
    servers = [await asyncio.start_server(hold, "127.0.0.1", 0) for _ in range(hosts)]
    yield [f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook" for server in servers], held
    for server in servers:
        server.close()
    for writer in writers:
        writer.close()


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [1, 2 * KEYS])
async def test_what_hangs_keeps_no_other_receiver_from_what_it_gets(hosts: int) -> None:
    """Runs enough that they would hold every key of the entity twice over, at one host or each at its own."""
    async with (
        hanging(hosts) as (urls, held),
        receiving() as receiver,
        served(app_of(scripted_agent("Joker"), environ=WEBHOOKS)) as (_, http),
    ):
        for number in range(2 * KEYS):
            hung = urls[number % hosts]
            await ask(http, "say hello", thread_id=f"h{number}", wait_for_response=False, webhook=hung)
        await asyncio.wait_for(held.get(), GUARD_SECONDS)
        for number in range(KEYS):
            await ask(http, "say hello", thread_id=f"g{number}", webhook=f"{receiver.url}/{number}")
        arrived = {(await receiver.next(2 * GUARD_SECONDS)).path for _ in range(KEYS)}
        shown = [(await http.get(f"/api/agents/Joker/threads/h{number}/webhooks")).json() for number in range(2 * KEYS)]

    assert arrived == {f"/{number}" for number in range(KEYS)}
    assert [tried for one in shown for delivery in one["deliveries"] for tried in delivery["tries"]] == []


class HungCallback:
    """A callback that does not return until it may."""

    def __init__(self) -> None:
        self.called = threading.Event()
        self.go_on = threading.Event()

    def on_agent_response(self, *_: object) -> None:
        """Wait."""
        self.called.set()
        self.go_on.wait(2 * GUARD_SECONDS)


async def test_a_callback_that_hangs_keeps_no_receiver_from_what_it_gets() -> None:
    """Not even that of the same run."""
    callback = HungCallback()
    app = app_of(scripted_agent("Joker"), environ=WEBHOOKS, default_callback=callback)
    async with receiving() as receiver, served(app) as (host, http):
        for number in range(4):
            await ask(http, "say hello", thread_id=f"t{number}", webhook=f"{receiver.url}/{number}")
        arrived = {(await receiver.next()).path for _ in range(4)}
        is_called = callback.called.is_set()
        callback.go_on.set()
        await host.entities.idle()

    assert (arrived, is_called) == ({f"/{number}" for number in range(4)}, True)


async def test_names_that_nobody_resolves_hold_no_thread_that_others_need() -> None:
    """Neither those of the process nor those of other names; these hang longer than a try takes."""
    resolved = threading.Event()

    def lookup(host: str, *rest: int, **asked: int) -> list[Any]:
        if host == "hangs.example":
            resolved.wait(2 * GUARD_SECONDS)
        return socket.getaddrinfo("127.0.0.1", *rest, **asked)

    hosts = ("hangs.example", "good.example")
    async with receiving() as receiver:
        port = receiver.url.rpartition(":")[2]
        hung = [
            post(f"http://hangs.example:{port}/", {}, b"{}", hosts, 0.1, lookup=lookup) for _ in range(bounds.MOST_SLOW)
        ]
        tried = await asyncio.gather(*hung)
        posted = await post(f"http://good.example:{port}/", {}, b"{}", hosts, GUARD_SECONDS, lookup=lookup)
        await asyncio.wait_for(asyncio.to_thread(resolved.set), GUARD_SECONDS)

    assert {one.problem for one in tried} == {"timeout"}
    assert posted.status == 204
    assert receiver.arrived.qsize() == 1


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    """No end yet, and what hangs, hangs."""
    made = Yard()
    yield made
    made.process.loop.close()


@pytest.mark.behaviour("webhooks.again")
async def test_what_answers_late_is_kept_behind_its_signal_as_if_it_had_answered_at_once(yard: Yard) -> None:
    """Until then it is listed, with when it is due if its process dies."""
    order = await yard.end()
    await yard.webhooks().deliver(order)
    meanwhile = await yard.record(order)
    listed = await yard.webhooks().deliveries.not_taken(AGENT, None, 10, yard.now + 1)
    yard.gate.set()
    await yard.until_taken(order)

    assert (meanwhile.state, meanwhile.tries) == ("waiting", ())
    assert next_try(ADDRESS, meanwhile) == yard.now + BEHIND_SECONDS
    assert [delivery for _, delivery in listed.deliveries] == [meanwhile]
    assert [one.status for one in (await yard.record(order)).tries] == [204]
    assert len(yard.posts) == 1


@pytest.mark.behaviour("webhooks.again")
async def test_what_hangs_is_tried_by_nobody_else_until_it_is_over_and_then_if_its_process_died(yard: Yard) -> None:
    """Signals that come twice find that somebody has it; a look finds it later, in any process."""
    order = await yard.end()
    await yard.webhooks().deliver(order)
    await yard.webhooks().deliver(order)
    yard.now += KEPT_SECONDS - 1
    await yard.webhooks().deliver(order)
    await yard.sweep()
    before = len(yard.posts)
    yard.now += BEHIND_SECONDS
    yard.gate.set()
    await yard.sweep()
    await yard.until_taken(order)

    assert (before, len(yard.posts), len(set(yard.posts))) == (1, 2, 1)


@pytest.mark.behaviour("webhooks.again")
@pytest.mark.parametrize("away", ["hub.webhooks", "hub.log", "hub.not-taken"])
async def test_a_process_that_dies_while_it_puts_one_behind_leaves_one_that_is_tried_again(
    yard: Yard, away: str
) -> None:
    """By its signal, which is delivered again, or by its note; and nothing is left in the end."""
    order = await yard.end()
    yard.store.away = away
    with pytest.raises(AttachmentsUnavailableError):
        await yard.webhooks().deliver(order)
    yard.store.away = ""
    yard.gate.set()
    await yard.webhooks().deliver(order)
    yard.now += BEHIND_SECONDS
    await yard.sweep()
    yard.now += BEHIND_SECONDS
    await yard.sweep()
    await yard.until_taken(order)

    assert len(set(yard.posts)) == 1


@pytest.mark.behaviour("webhooks.shown")
async def test_one_that_is_sent_again_and_hangs_is_tried_although_its_process_dies(yard: Yard) -> None:
    """It had been given up."""
    order = await yard.end()
    yard.answer = Posted(410)
    yard.gate.set()
    await yard.webhooks(5.0).deliver(order)
    found = await yard.webhooks().again(order)
    yard.gate.clear()
    assert found is not None
    await yard.webhooks().deliver(found[0])
    yard.abandon()
    yard.gate.set()
    yard.answer = Posted(204)
    yard.now += BEHIND_SECONDS
    await yard.sweep()
    await yard.until_taken(order)

    assert found[1].state == "dead"
    assert [one.status for one in (await yard.record(order)).tries] == [410, 204]


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
    webhooks.task_update = lambda run, terminal: {}
    await webhooks.pushes.put(ADDRESS, 0, order.run_id, PushConfig(id="p", url="https://busy.example/"))

    async def operation() -> None:
        setattr(asyncio.current_task(), TASK_MARK, "invocation 1")
        begin_invocation()
        await webhooks.deliver(order)

    await asyncio.create_task(operation())
    caplog.handler.removeFilter(note)  # it is all tests' handler

    assert marks == ["invocation 1"]
    assert order.run_id in caplog.text


@pytest.mark.behaviour("webhooks.deleted")
async def test_of_a_thread_that_was_deleted_while_a_receiver_hung_nothing_is_kept(yard: Yard) -> None:
    """As of any other."""
    order = await yard.end()
    await yard.webhooks().deliver(order)
    await yard.process.log.execute(ADDRESS, DeleteThread(yard.now))
    await yard.process.deliver_delete()
    yard.gate.set()
    while await yard.left():  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0)

    assert await yard.store.names(yard.process.place(0)) == {}


async def test_a_slow_receiver_that_answers_gets_all_of_it_once_a_few_at_a_time(yard: Yard) -> None:
    """Those that have no place wait for one in memory, and no look is needed."""
    orders = [await yard.end() for _ in range(3 * bounds.MOST_OF_HOST)]
    webhooks = yard.webhooks()
    for order in orders:
        await webhooks.deliver(order)
    held = len(yard.posts)
    yard.gate.set()
    await yard.until_taken(*orders)

    assert held == yard.most_at_work == bounds.MOST_OF_HOST
    assert sorted(yard.posts) == sorted(f"{order.run_id}-run-completed" for order in orders)


async def test_what_has_no_room_to_wait_at_a_slow_receiver_is_late_by_minutes_and_no_more(yard: Yard) -> None:
    """More of it is due at one look than a process keeps: whoever looks finds the others again soon."""
    orders = [await yard.end() for _ in range(bounds.MOST_OF_HOST + bounds.MOST_WAITING_OF_HOST + 8)]
    looking, sending = yard.webhooks(), yard.webhooks()
    for order in orders:
        await looking.notes.put(order, HANGS, is_behind=True)
    due_at = yard.now = yard.now + BEHIND_SECONDS
    for _ in range(2):  # as many as a look takes of one host, and then the rest
        for order in await looking.notes.due():
            await sending.deliver(order)
    yard.gate.set()
    await yard.settle()
    while await yard.left() and yard.now < due_at + DAY:
        for order in await looking.notes.due():
            await sending.deliver(order)
        await yard.settle()
        yard.now += 60

    assert sorted(yard.posts) == sorted(f"{order.run_id}-run-completed" for order in orders)
    assert yard.now - due_at <= BEHIND_SECONDS + 2 * 60


@pytest.mark.slow
@pytest.mark.behaviour("service.leave")
async def test_an_app_that_is_to_end_waits_for_a_receiver_that_is_being_tried() -> None:
    """Its operation is over by then."""
    app = app_of(scripted_agent("Joker"), environ=WEBHOOKS)
    async with receiving() as receiver, served(app) as (host, http):
        receiver.statuses = [0]
        await ask(http, "say hello", thread_id="t", webhook=receiver.url)
        await receiver.next()
        await host.entities.idle()
        ending = asyncio.ensure_future(app._services.drain(GUARD_SECONDS))
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
        await webhooks.deliver(order)
    await asyncio.wait_for(webhooks.drain(0.0), GUARD_SECONDS)
    ending = asyncio.ensure_future(webhooks.drain(GUARD_SECONDS))
    yard.gate.set()
    await asyncio.wait_for(ending, GUARD_SECONDS)
    states = [(await yard.record(order)).state for order in orders]

    assert states == ["delivered"] * bounds.MOST_OF_HOST + ["waiting"] * bounds.MOST_OF_HOST
    assert len(yard.posts) == bounds.MOST_OF_HOST


async def test_many_deliveries_to_one_host_keep_others_no_look_longer(yard: Yard) -> None:
    """One look finds few at a host of which no receiver is prompt, and all once one is."""
    order = await yard.end("https://good.example/hook")
    webhooks = yard.webhooks(5.0)
    for number in range(4 * MOST_OF_HOST):
        await webhooks.notes.put(WebhookOrder(ADDRESS, f"run{number}", "agent", 1), "https://good.example/other")
    yard.now += 1
    await webhooks.notes.put(WebhookOrder(ADDRESS, "newest", "agent", 1), "https://other.example/")
    yard.now += DAY

    first = await webhooks.notes.due()
    await webhooks.deliver(order)
    rest = await webhooks.notes.due()

    assert (len(first), first[1].run_id, len(rest)) == (MOST_OF_HOST + 1, "newest", 3 * MOST_OF_HOST)


class Turns:
    """The receivers of a process, and what it began in which places."""

    def __init__(self) -> None:
        self.now = 0.0
        self.begun: list[tuple[str, Place]] = []
        self.places = Places(lambda: self.now, self._begin)

    def _begin(self, order: WebhookOrder, place: Place) -> None:
        self.begun.append((order.run_id, place))

    def send(self, url: str, owner: str = "mallory", run_id: str = "r", target: str = "request") -> Place | None:
        """Send as the entity does: now, or once there is a place."""
        order = WebhookOrder(Address.of(AGENT, "t", owner), run_id, target)
        place = self.places.take(order, url)
        if place is None:
            self.places.wait(order, url)
        return place

    def hang(self, url: str, owner: str = "mallory", target: str = "request") -> Place | None:
        """Send to one that does not answer in a moment."""
        place = self.send(url, owner, target=target)
        if place is not None:
            self.places.overdue(place)
        return place

    def answer(self, place: Place | None) -> None:
        """Have a try be over at once."""
        assert place is not None
        self.places.over(place)

    def drain(self) -> int:
        """Have all that waits be over, and return how many those were."""
        over = 0
        while over < len(self.begun):
            self.now += 1e-6
            self.places.give_back(self.begun[over][1])
            over += 1
        return over


@pytest.mark.slow
@pytest.mark.parametrize(("hosts", "most"), [(1, bounds.MOST_WAITING_OF_HOST), (500, bounds.MOST_WAITING)])
def test_what_waits_in_memory_is_bounded(hosts: int, most: int) -> None:
    """The others have their notes."""
    turns = Turns()
    places = [turns.hang(f"https://h{number % hosts}.example/{number}", f"o{number % 3}") for number in range(1_500)]
    for place in places:
        if place is not None:
            turns.places.give_back(place)

    assert turns.drain() == most


def test_what_has_waited_for_long_is_left_to_its_note() -> None:
    """By which somebody else begins it then."""
    turns = Turns()
    place, *_ = [turns.hang("https://h.example/") for _ in range(bounds.MOST_OF_HOST + 2)]
    turns.now += bounds.WAITING_SECONDS
    turns.send("https://h.example/", run_id="newer")
    assert place is not None
    turns.places.give_back(place)

    assert [run_id for run_id, _ in turns.begun] == ["newer"]


def test_who_has_most_waiting_gives_one_up_for_another_and_is_not_next() -> None:
    """A caller whose receivers hang, all at hosts of their own; an agent's receiver is no caller's."""
    turns = Turns()
    places = [turns.hang(f"https://h{number}.example/") for number in range(1_500)]
    mallorys, alices = (WebhookOrder(Address.of(AGENT, "t", owner), "r", "request") for owner in ("mallory", "alice"))
    kept = [turns.places.keeps(order, "https://new.example/") for order in (mallorys, alices)]
    turns.send("https://alices.example/", "alice", "alices")
    turns.send("https://agents.example/", run_id="agents", target="agent")
    for place in places:
        if place is not None:
            turns.places.give_back(place)

    assert kept == [False, True]
    assert {run_id for run_id, _ in turns.begun[:2]} == {"alices", "agents"}


def test_a_prompt_receiver_is_sent_to_whatever_hangs_at_its_host_and_elsewhere() -> None:
    """Somebody else's may be there."""
    turns = Turns()
    turns.answer(turns.send("https://hooks.example/good"))
    for number in range(1000):
        turns.hang(f"https://hooks.example/{number}")
        turns.hang(f"https://h{number}.example/")

    assert turns.send("https://hooks.example/good") is not None
    assert turns.send("https://hooks.example/other") is None


def test_a_new_host_is_sent_to_whatever_hangs() -> None:
    """What hangs holds places of new ones for a moment only, and then no more than in all there are."""
    turns = Turns()
    hung = [turns.hang(f"https://h{number}.example/") for number in range(bounds.MOST_AT_WORK - 1)]

    assert None not in hung
    assert turns.send("https://h1.example/") is None
    assert turns.send("https://new.example/") is not None


def test_a_receiver_that_was_slow_once_is_prompt_when_it_answers_at_once_again() -> None:
    """And what waits for its host begins."""
    turns = Turns()
    hung = [turns.hang("https://hooks.example/") for _ in range(bounds.MOST_OF_HOST + 1)]
    late = hung[0]
    turns.now += 2 * bounds.PROMPT_SECONDS
    turns.answer(late)
    assert [run_id for run_id, _ in turns.begun] == ["r"]
    assert turns.send("https://hooks.example/") is None

    turns.answer(turns.begun[0][1])
    turns.answer(turns.send("https://hooks.example/"))
    assert turns.places.is_prompt(host_digest("https://hooks.example/"))
    turns.hang("https://hooks.example/")
    assert not turns.places.is_prompt(host_digest("https://hooks.example/"))
