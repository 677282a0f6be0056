"""A webhook that is not taken: tried again for a day, by a clock that a test moves, whichever process dies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from hosting.core.deletion import ThreadDeletion, read_receipt
from hosting.core.stores.memory import SharedMemory
from hosting.core.thread.commands import DeleteThread
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError, EngineUnavailableError
from hosting.features.webhooks.client import Posted
from hosting.features.webhooks.delivery import JITTER, PAUSES, Delivery, WebhookOrder
from hosting.features.webhooks.feature import thread_data
from hosting.features.webhooks.rules import WebhookRules
from hosting.features.webhooks.webhooks import Webhooks
from hosting.options import AgentOptions
from hosting.plan import AgentPlan
from tests.hosting.features.webhooks.yard import ClockEngine, Store
from tests.support.process import ADDRESS, AGENT, Process, call

pytestmark = pytest.mark.behaviour("webhooks.again")

DAY = 86_400.0
URL = "https://example.com/hook"


class Desk:
    """A run that has ended, a receiver that answers `answers` in turn, and processes that tell it, by one clock.

    The processes' clock is so many seconds `ahead` of the engine's.
    """

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.ahead = 0.0
        self.store = Store(lambda: self.now)
        self.engine = ClockEngine(lambda: self.now)
        self.process = Process(SharedMemory(), self.store, self.engine, keeps=thread_data)
        self.answers: list[Posted] = []
        self.posts: list[tuple[float, str, bytes]] = []
        self.order = WebhookOrder(ADDRESS, "", "agent")

    async def begin(self) -> None:
        run = await self.process.start(call())
        await self.process.deliver(run.run_id)
        self.order = replace(self.order, run_id=run.run_id)

    def webhooks(self) -> Webhooks:
        log: ThreadLog = self.process.log_at(lambda: self.now + self.ahead)
        made = Webhooks(log, self.process.stores, WebhookRules((b"s" * 32,), ()), poster=self.post)
        made.add(AgentPlan(AGENT, self.process.agent, AgentOptions(webhook=URL)))  # type: ignore[arg-type]
        return made

    async def post(self, url: str, headers: dict[str, str], body: bytes, hosts: Sequence[str]) -> Posted:
        self.posts.append((self.now, headers["webhook-id"], body))
        return self.answers.pop(0) if self.answers else Posted(503)

    async def deliver(self, order: WebhookOrder | None = None) -> None:
        await self.webhooks().deliver(order or self.order, self.engine)

    async def wake(self) -> int:
        return await self.engine.wake(self.webhooks())

    async def record(self) -> Delivery:
        found = await self.webhooks().deliveries.read(self.order, 0)
        assert found is not None
        return found

    async def again(self) -> WebhookOrder:
        found = await self.webhooks().again(self.order)
        assert found is not None
        return found[0]

    async def not_taken(self) -> list[str]:
        page = await self.webhooks().deliveries.not_taken(AGENT, None, 10, self.now + 1)
        return [delivery.state for _, delivery in page.deliveries]


@pytest.fixture
async def desk() -> Any:
    desk = Desk()
    await desk.begin()
    yield desk
    desk.process.loop.close()


async def test_it_is_tried_at_growing_pauses_for_a_day_and_then_given_up(desk: Desk) -> None:
    """The same message each time; in the end no clock is left."""
    began_at = desk.now
    await desk.deliver()
    while desk.engine.sleeping:
        desk.now = min(wake_at for wake_at, _ in desk.engine.sleeping.values())
        await desk.wake()

    tried_at = [at for at, _, _ in desk.posts]
    pauses = [later - earlier for earlier, later in pairwise(tried_at)]
    assert len(pauses) == len(PAUSES)
    for pause, least in zip(pauses, PAUSES, strict=True):
        assert least <= pause <= least * (1 + JITTER) + 1
    assert 0.9 * DAY <= tried_at[-1] - began_at <= 1.3 * DAY
    record = await desk.record()
    assert (record.state, [one.status for one in record.tries]) == ("dead", [503] * 8)
    assert desk.engine.sleeping == {}


@pytest.mark.behaviour("thread.versions")
async def test_what_a_newer_version_added_to_a_delivery_stays(desk: Desk) -> None:
    await desk.deliver()
    known = json.loads((await desk.record()).model_dump_json())
    known["mood"] = known["tries"][0]["mood"] = "good"
    await desk.webhooks().deliveries.put(desk.order, 0, Delivery.model_validate(known))

    desk.now += PAUSES[1] * (1 + JITTER)
    await desk.wake()

    record = await desk.record()
    assert (record.model_extra, [one.model_extra for one in record.tries]) == ({"mood": "good"}, [{"mood": "good"}, {}])


async def test_every_try_is_the_same_message(desk: Desk) -> None:
    """By its id and its bytes, so that a receiver knows it."""
    await desk.deliver()
    desk.now += PAUSES[0] * 2
    await desk.wake()

    (_, *first), (_, *second) = desk.posts
    assert first == second


@pytest.mark.parametrize("answer", [Posted(410), Posted(problem="inside_network")])
async def test_a_receiver_that_is_gone_or_inside_is_not_tried_again(desk: Desk, answer: Posted) -> None:
    desk.answers = [answer]
    await desk.deliver()

    assert (await desk.record()).state == "dead"
    assert desk.engine.sleeping == {}


@pytest.mark.parametrize("away", ["hub.not-taken", "engine"])
async def test_a_process_that_dies_behind_a_try_leaves_one_that_is_tried_again(desk: Desk, away: str) -> None:
    """Its signal is delivered again: it finds the try on record, makes no other, and puts what is missing."""
    desk.store.away, desk.engine.is_away = away, away == "engine"
    with pytest.raises((AttachmentsUnavailableError, EngineUnavailableError)):
        await desk.deliver()
    desk.store.away, desk.engine.is_away = "", False
    await desk.deliver()
    tries, listed = len(desk.posts), await desk.not_taken()
    desk.now += PAUSES[0] * 2
    desk.answers = [Posted(200)]
    await desk.wake()

    assert (tries, listed, len(desk.posts)) == (1, ["waiting"], 2)
    assert (await desk.record()).state == "delivered"
    assert (desk.engine.sleeping, await desk.not_taken()) == ({}, [])


async def test_a_record_is_no_upload_that_nothing_refers_to_and_is_kept_for_a_month(desk: Desk) -> None:
    desk.answers = [Posted(200)]
    await desk.deliver()
    deletion = ThreadDeletion(
        desk.process.log_at(lambda: desk.now), desk.process.stores, thread_data=[thread_data(desk.process.stores)]
    )
    kept = list[bool]()
    for days in (2, 27, 2):
        desk.now += days * DAY
        await deletion.erase_unused(ADDRESS, desk.process.engine.documents["t1"])
        kept.append(bool(await desk.store.names(desk.process.place(0))))

    assert kept == [True, True, False]


@pytest.mark.behaviour("webhooks.deleted")
async def test_who_purges_the_instances_of_a_deleted_thread_ends_its_clocks(desk: Desk) -> None:
    """The process that deleted it died before that; its receipt names them. One that cannot be ended yet stays owed."""
    await desk.deliver()
    [clock] = desk.engine.sleeping
    await desk.process.log.execute(ADDRESS, DeleteThread(desk.now))
    await desk.process.deliver_delete()
    desk.engine.is_away = True
    await desk.process.purging.purge(ADDRESS, desk.engine)
    away = await outcomes(desk)
    desk.engine.is_away = False
    await desk.process.purging.purge(ADDRESS, desk.engine)

    assert (away[clock], (await outcomes(desk))[clock]) == ("pending", "deleted")
    assert desk.engine.sleeping == {}


async def outcomes(desk: Desk) -> dict[str, str]:
    receipt = read_receipt(event for _, event in await desk.process.log.events(ADDRESS, 0))
    assert receipt is not None
    return {instance.id: instance.outcome for instance in receipt.instances}


async def test_a_webhook_that_is_no_longer_allowed_is_not_sent_to(desk: Desk) -> None:
    """The rules are those of now: a setting may have changed since the request."""
    webhooks = desk.webhooks()
    webhooks.add(AgentPlan(AGENT, desk.process.agent, AgentOptions(webhook="https://10.0.0.1/")))  # type: ignore[arg-type]
    await webhooks.deliver(desk.order, desk.engine)

    assert desk.posts == []
    assert (await desk.record()).tries[0].problem == "not_allowed"
