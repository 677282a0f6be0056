"""A webhook that is not taken, or hangs: tried again for a day by its clock, whichever process dies."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from itertools import pairwise
from random import Random

import pytest
from msgspec.structs import replace

from hosting.core.thread.commands import DeleteThread
from hosting.errors import AttachmentsUnavailableError, EngineUnavailableError
from hosting.features.webhooks import send_slots as bounds
from hosting.features.webhooks.client import SECONDS, Posted
from hosting.features.webhooks.delivery import HELD_SECONDS, JITTER, PAUSES, WAITING_SECONDS, Delivery, WebhookOrder
from hosting.features.webhooks.send_slots import SendSlots
from hosting.features.webhooks.webhooks import logger as webhook_logger
from hosting.http.verbs import Receiver as PushReceiver
from hosting.invocation import TASK_MARK, begin_invocation
from tests.hosting.features.webhooks.yard import HANGS, URL, Yard
from tests.support.a2a import HEADERS, message
from tests.support.cluster.cluster import ADDRESS, AGENT, INSTANCE, THREAD, Cluster
from tests.support.cluster.life import DiedError, Life
from tests.support.receiver import SECRET
from tests.support.seeds import repeated

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("webhooks.again")]

DAY = 86_400.0
LATE = PAUSES[0] * (1 + JITTER) + 1
OF_TASK = "https://busy.example/"


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    """One process."""
    yard = Yard()
    yard.process()
    yield yard
    await yard.cluster.close()


async def send_again(yard: Yard, order: WebhookOrder) -> None:
    """Have a delivery ordered as its route does."""
    if (found := await yard.webhooks.again(order)) is not None:
        await found[0].signal(yard.app.engine)


async def test_it_is_tried_at_growing_pauses_for_a_day_and_then_given_up(yard: Yard) -> None:
    """The same message each time, by its id and its bytes; in the end no clock is left."""
    order = await yard.end()
    await yard.deliver()
    await yard.pass_time(2 * DAY)

    tried_at = [at for at, _, _ in yard.posts]
    pauses = [later - earlier for earlier, later in pairwise(tried_at)]
    assert len(pauses) == len(PAUSES)
    for pause, least in zip(pauses, PAUSES, strict=True):
        assert least <= pause <= least * (1 + JITTER) + 1
    assert 0.9 * DAY <= tried_at[-1] - tried_at[0] <= 1.3 * DAY
    assert len({(id_, body) for _, id_, body in yard.posts}) == 1
    record = await yard.record(order)
    assert (record.state, [tried.status for tried in record.tries]) == ("dead", [503] * 8)
    assert yard.cluster.engine.clocks == {}


@pytest.mark.behaviour("thread.versions")
async def test_what_a_newer_version_added_to_a_delivery_stays(yard: Yard) -> None:
    order = await yard.end()
    await yard.deliver()
    known = json.loads((await yard.record(order)).model_dump_json())
    known["mood"] = known["tries"][0]["mood"] = "good"
    await yard.webhooks.deliveries.put(order, 0, Delivery.model_validate(known))

    await yard.pass_time(LATE)

    record = await yard.record(order)
    assert (record.model_extra, [tried.model_extra for tried in record.tries]) == (
        {"mood": "good"},
        [{"mood": "good"}, {}],
    )


@pytest.mark.parametrize("answer", [Posted(410), Posted(problem="inside_network")])
async def test_a_receiver_that_is_gone_or_inside_is_not_tried_again(yard: Yard, answer: Posted) -> None:
    yard.answer = answer
    order = await yard.end()
    await yard.deliver()

    assert ((await yard.record(order)).state, yard.cluster.engine.clocks) == ("dead", {})


@pytest.mark.behaviour("webhooks.shown")
async def test_one_that_is_sent_again_after_it_was_given_up_has_a_clock_of_its_own(yard: Yard) -> None:
    """The one before has ended, or is about to: both are gone in the end."""
    yard.answers, yard.answer = [Posted(503), Posted(410), Posted(503)], Posted(204)
    order = await yard.end()
    await yard.deliver()
    await yard.pass_time(LATE)
    given_up = (await yard.record(order)).state
    await send_again(yard, order)
    await yard.deliver()
    await yard.pass_time(PAUSES[2] * (1 + JITTER) + 1)

    record = await yard.record(order)
    assert (given_up, record.state, [tried.status for tried in record.tries]) == (
        "dead",
        "delivered",
        [503, 410, 503, 204],
    )
    assert await yard.left() == []


@pytest.mark.behaviour("a2a.push")
async def test_each_receiver_of_a_task_has_a_clock_of_its_own_and_no_secret_is_in_it() -> None:
    """The next try has the token and the credentials, as they are by then."""
    yard = Yard(Cluster(settings={"AGENT_WEBHOOK_SECRET": SECRET}, wires=["a2a"]))
    app = yard.process()
    secrets = {"token": "canary-token", "authentication": {"scheme": "Bearer", "credentials": "canary-key"}}
    config = {"taskPushNotificationConfig": {"url": f"{URL}/canary", "id": "mine", **secrets}}
    sent = {"message": message("say hello", contextId=THREAD), "configuration": config}
    await app.http.post(
        f"/api/a2a/{AGENT}",
        json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent},
        headers=HEADERS,
    )
    await yard.deliver()
    clocks, yard.answer = str(yard.cluster.engine.clocks), Posted(204)
    await yard.pass_time(LATE)

    told = [(headers["x-a2a-notification-token"], headers["authorization"]) for headers in yard.headers]
    assert told == [("canary-token", "Bearer canary-key")] * 2
    assert ("push-mine" in clocks, "canary" in clocks, yard.cluster.engine.clocks) == (True, False, {})
    await yard.cluster.close()


@pytest.mark.behaviour("webhooks.apart")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
@pytest.mark.parametrize("url", [URL, HANGS])
async def test_wherever_a_process_dies_while_it_tries_all_is_taken_in_the_end(url: str, *, is_done: bool) -> None:
    """By its operation, which is delivered again, or by its clock: with one id, and nothing is left."""
    begun = Yard()
    begun.process()
    order = await begun.end(url)
    for ends in itertools.count(1):
        yard = Yard(begun.cluster.again())
        dying = yard.process(Life(ends, is_done=is_done))
        try:
            await yard.cluster.deliver(dying)
        except DiedError:
            pass
        else:
            break
        yard.process()
        yard.answer = Posted(204)
        yard.gate.set()
        await yard.deliver()
        for _ in range(3):
            await yard.pass_time(HELD_SECONDS + LATE)
        assert ((await yard.record(order)).state, await yard.left()) == ("delivered", []), ends
        assert len({id_ for _, id_, _ in yard.posts}) == 1

    assert ends > 4
    await begun.cluster.close()


async def test_a_record_is_no_upload_that_nothing_refers_to_and_is_kept_for_a_month(yard: Yard) -> None:
    yard.answer = Posted(200)
    await yard.end()
    await yard.deliver()
    kept = list[bool]()
    for days in (2, 27, 2):
        yard.cluster.wall_ahead += days * DAY
        await yard.app.deletion.erase_unused(ADDRESS, yard.cluster.engine.documents[INSTANCE])
        kept.append(bool(await yard.cluster.attachments.names(yard.app.place(0))))

    assert kept == [True, True, False]


@pytest.mark.behaviour("webhooks.deleted")
async def test_who_purges_the_instances_of_a_deleted_thread_ends_its_clocks(yard: Yard) -> None:
    """The process that deleted it died before that; its receipt names them. One that cannot be ended yet stays owed."""
    await yard.end()
    await yard.deliver()
    engine, outcomes = yard.cluster.engine, list[str]()
    [clock] = engine.clocks
    await yard.app.log.execute(ADDRESS, DeleteThread(yard.cluster.wall()))
    await yard.app.operate({"logged": True}, "delete")
    for engine.is_away in (True, False):
        await yard.app.purging.purge(ADDRESS, yard.app.engine)
        receipt = await yard.app.threads.receipt(ADDRESS)
        outcomes += [instance.outcome for instance in receipt.instances if instance.id == clock]

    assert (outcomes, engine.clocks) == (["pending", "deleted"], {})


@pytest.mark.behaviour("http.exports-threads")
async def test_an_export_has_all_deliveries_of_a_thread_however_many(yard: Yard) -> None:
    """They are read page by page."""
    order = await yard.end()
    await yard.deliver()
    record = await yard.record(order)
    for number in range(450):
        await yard.webhooks.deliveries.put(replace(order, run_id=f"r{number}"), 0, record)

    export = await yard.app.threads.export(ADDRESS, yard.app.engine)

    assert len(export.kept["webhooks"]) == 451


async def test_a_webhook_that_is_no_longer_allowed_is_not_sent_to(yard: Yard) -> None:
    """The rules are those of now: a setting may have changed since the request."""
    order = await yard.end("https://10.0.0.1/")
    await yard.deliver()

    assert (yard.posts, (await yard.record(order)).tries[0].problem) == ([], "not_allowed")


@pytest.mark.behaviour("webhooks.apart")
async def test_what_hangs_is_tried_by_nobody_else_until_it_is_over_and_then_if_its_process_died(yard: Yard) -> None:
    """Signals that come twice find that somebody has it; its clock has it tried later, in any process."""
    order = await yard.end(HANGS)
    yard.cluster.engine.signals *= 2
    yard.process()
    await yard.deliver()
    await yard.pass_time(HELD_SECONDS - 5)
    before = len(yard.posts)
    yard.app.die()
    await yard.pass_time(HELD_SECONDS)
    after, yard.answer = len(yard.posts), Posted(204)
    yard.gate.set()
    await yard.pass_time(2 * HELD_SECONDS)

    assert (before, after, len({id_ for _, id_, _ in yard.posts})) == (1, 2, 1)
    assert ((await yard.record(order)).state, await yard.left()) == ("delivered", [])


@pytest.mark.behaviour("webhooks.apart")
@pytest.mark.parametrize("url", [URL, HANGS, OF_TASK])
async def test_what_is_logged_of_a_try_reaches_azure(yard: Yard, caplog: pytest.LogCaptureFixture, url: str) -> None:
    """It has the id of its operation, which is over before a receiver that hangs has been given up; a task's too."""
    order, marks = await yard.end("https://else.example/" if url == OF_TASK else url), list[str]()
    if url == OF_TASK:
        yard.webhooks.receivers.update_of = lambda run, terminal: {}
        await yard.webhooks.receivers.store.put(ADDRESS, 0, order.run_id, PushReceiver(id="p", url=url))

    def note(record: logging.LogRecord) -> bool:
        if record.name == webhook_logger.name:  # others log too
            marks.append(getattr(asyncio.current_task(), TASK_MARK, ""))
        return True

    async def operation() -> None:
        setattr(asyncio.current_task(), TASK_MARK, "invocation 1")
        begin_invocation()
        await yard.deliver()

    caplog.set_level(logging.INFO, webhook_logger.name)
    caplog.handler.addFilter(note)
    await asyncio.create_task(operation())
    caplog.handler.removeFilter(note)  # it is all tests' handler

    assert marks == ["invocation 1"]
    assert order.run_id in caplog.text


@pytest.mark.behaviour("webhooks.apart")
async def test_a_slow_receiver_that_answers_gets_all_of_it_once_a_few_at_a_time(yard: Yard) -> None:
    """Those that have no slot wait for one in memory, and no clock is needed."""
    yard.answer = Posted(204)
    orders = [await yard.end(HANGS) for _ in range(3 * bounds.MOST_OF_HOST)]
    await yard.deliver()
    held = len(yard.posts)
    yard.gate.set()
    await asyncio.sleep(1.0)
    states = {(await yard.record(order)).state for order in orders}
    await yard.pass_time(WAITING_SECONDS + HELD_SECONDS)

    assert (held, yard.most_at_work, states) == (bounds.MOST_OF_HOST, bounds.MOST_OF_HOST, {"delivered"})
    assert sorted(id_ for _, id_, _ in yard.posts) == sorted(f"{order.run_id}-run-completed" for order in orders)
    assert await yard.left() == []


@pytest.mark.behaviour("service.leave")
async def test_a_process_that_is_to_end_begins_nothing_that_waits_and_keeps_what_answers_in_time(yard: Yard) -> None:
    """A receiver that has taken it is not sent it again by the next process; one that hangs on holds nobody up."""
    yard.answer = Posted(204)
    orders = [await yard.end(HANGS) for _ in range(2 * bounds.MOST_OF_HOST)]
    await yard.deliver()
    ending = asyncio.ensure_future(yard.app.app._drain(60.0))
    await asyncio.sleep(5.0)
    is_early = ending.done()
    yard.gate.set()
    await ending
    states = [(await yard.record(order)).state for order in orders]

    assert not is_early
    assert states == ["delivered"] * bounds.MOST_OF_HOST + ["waiting"] * bounds.MOST_OF_HOST
    assert len(yard.posts) == bounds.MOST_OF_HOST


@pytest.mark.behaviour("webhooks.apart")
async def test_what_has_waited_for_long_is_left_to_its_clock() -> None:
    now, url = 0.0, "https://h.example/"
    slots = SendSlots(lambda: now)
    held = [slot for _ in range(bounds.MOST_OF_HOST) if (slot := slots.take("mallory", url)) is not None]
    for slot in held:
        slots.mark_slow(slot)
    older = asyncio.ensure_future(slots.acquire("mallory", url))
    await asyncio.sleep(0.1)
    now += WAITING_SECONDS
    newer = asyncio.ensure_future(slots.acquire("mallory", url))
    await asyncio.sleep(0.1)
    slots.release(held[0])
    await asyncio.sleep(0.1)

    assert (len(held), newer.done()) == (bounds.MOST_OF_HOST, True)
    assert not older.done() or older.result() is None


@pytest.mark.behaviour("webhooks.apart")
@pytest.mark.parametrize("kills", [False, True])
async def test_whatever_happens_all_is_taken_in_the_end_and_nothing_is_left(seed: int, *, kills: bool) -> None:
    """And where nobody dies, each try that a receiver sees is on record: none is made twice."""
    for number in range(repeated(3, 1000)):
        random, yard = Random(f"{seed} {number}"), Yard()
        yard.hung_seconds = SECONDS
        yard.process()
        orders = [await yard.end(HANGS) for _ in range(4)]
        signals = yard.cluster.engine.signals
        for _ in range(40):
            match random.choice(["deliver", "deliver", "again", "pass", "answer", *["die", "away"] * kills]):
                case "deliver" if signals:
                    random.shuffle(signals)
                    signals.append(random.choice(signals))
                    await try_to(yard.deliver())
                case "again":
                    await try_to(send_again(yard, random.choice(orders)))
                case "pass":
                    await asyncio.sleep(random.choice([1, 20, 60, 140, 200, 700, 4000]))
                case "answer":
                    yard.answer = random.choice([Posted(204), Posted(503), Posted(503)])
                    yard.gate.set()
                    await asyncio.sleep(0.1)
                    yard.gate.clear()
                case "die":
                    yard.app.die()
                    yard.process()
                case "away":
                    yard.app.attachments.is_away = random.random() < 0.3
                    yard.cluster.engine.is_away = random.random() < 0.2
        yard.app.attachments.is_away = yard.cluster.engine.is_away = False
        yard.answer = Posted(204)
        yard.gate.set()
        await yard.deliver()
        for _ in range(20):
            await yard.pass_time(40_000.0)
        records = [await yard.record(order) for order in orders]

        assert [record.state for record in records] == ["delivered"] * 4, number
        assert await yard.left() == [], number
        assert kills or len(yard.posts) == sum(len(record.tries) for record in records), number
        await yard.cluster.close()


async def try_to(work: Awaitable[object]) -> None:
    """Do it, as far as the stores and the engine are there."""
    with suppress(AttachmentsUnavailableError, EngineUnavailableError):
        await work
