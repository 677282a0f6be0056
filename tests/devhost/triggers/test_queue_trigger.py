"""Queue triggers of any app against the emulator's queues, as the real host was recorded to serve them."""

from __future__ import annotations

import asyncio
import json
import queue as queues
from dataclasses import replace
from datetime import timedelta

import azure.functions as func
import pytest

from devhost.triggers.queue_listener import Pauses
from devhost.triggers.queue_settings import QueueSettings
from tests.devhost.triggers.storage import QUICK, Seen, Storage, listening, until
from tests.support.azurite import Azurite
from tests.support.engine_clocks import ManualClock
from tests.support.storage_calls import LogPosition

pytestmark = [pytest.mark.behaviour("devhost.queue-trigger")]


async def test_a_function_is_given_the_message(storage: Storage) -> None:
    """Its body, its id, how often it was delivered, and that it is hidden for ten minutes."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    def take(msg: func.QueueMessage) -> None:
        seen.put(msg)

    sent = storage.send(queue, "plain é ✓\r\n ")
    async with listening(app, storage):
        message = await seen.next()
        await until(lambda: storage.count(queue) == 0)

    assert (message.id, message.get_body(), message.dequeue_count) == (sent, "plain é ✓\r\n ".encode(), 1)
    hidden = message.time_next_visible - message.insertion_time
    assert timedelta(minutes=10) <= hidden < timedelta(minutes=11)
    assert message.expiration_time - message.insertion_time == timedelta(days=7)


@pytest.mark.parametrize("body", ["", " a\r\n\tb ", "[1,2]", '"quoted"', "5", "aW5uZXI="])
async def test_bodies_come_as_they_were_sent(storage: Storage, body: str) -> None:
    """Empty ones, white space, and JSON that is no object."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage) -> None:
        seen.put(msg.get_body())

    storage.send(queue, body)
    async with listening(app, storage):
        assert await seen.next() == body.encode()


@pytest.mark.parametrize(("name", "shown"), [("id", "id"), ("ID", "id"), ("PopReceipt", "pop_receipt")])
async def test_a_member_of_a_json_body_takes_the_place_of_metadata(storage: Storage, name: str, shown: str) -> None:
    """Whatever its case: so a delivery's id cannot be told by `msg.id`."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage) -> None:
        seen.put(msg)

    storage.send(queue, json.dumps({name: "chosen", "list": [1]}))
    async with listening(app, storage):
        message = await seen.next()
        await until(lambda: storage.count(queue) == 0)

    assert getattr(message, shown) == "chosen"


@pytest.mark.parametrize("is_annotated", [True, False])
async def test_a_generic_trigger_is_a_queue_trigger(storage: Storage, is_annotated: bool) -> None:
    """And `%SETTING%` names its queue, or a part of its name."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    def take(msg):
        seen.put(msg)

    if is_annotated:
        take.__annotations__["msg"] = func.QueueMessage
    app.generic_trigger(arg_name="msg", type="queueTrigger", queueName="t%REST%", connection="Other")(take)
    storage.send(queue, "hello")
    async with listening(app, storage, Other=storage.setting, REST=queue[1:]):
        message = await seen.next()

    assert isinstance(message, func.QueueMessage)
    assert message.get_body() == b"hello"


@pytest.mark.parametrize(("settings", "tries"), [(QUICK, 5), (replace(QUICK, max_dequeue_count=2), 2)])
async def test_a_message_that_fails_is_tried_again_and_ends_in_the_poison_queue(
    storage: Storage, settings: QueueSettings, tries: int
) -> None:
    """With the same body, a new id and no dequeue count; others are worked on meanwhile."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage) -> None:
        seen.put((msg.get_body(), msg.dequeue_count))
        if msg.get_body() == b"bad":
            raise ValueError("a bad message")

    bad = storage.send(queue, "bad")
    storage.send(queue, "good")
    async with listening(app, storage, queues=settings):
        calls = await seen.several(tries + 1)
        await until(lambda: storage.bodies(f"{queue}-poison") == [b"bad"])
        await until(lambda: storage.count(queue) == 0)

    assert [count for body, count in calls if body == b"bad"] == list(range(1, tries + 1))
    assert (b"good", 1) in calls
    [poison] = storage.queues.get_queue_client(f"{queue}-poison").peek_messages()
    assert (poison.id == bad, poison.dequeue_count) == (False, 0)


@pytest.mark.parametrize("body", [b"hello world, not base64!", b'{"a": 1}', b"abc"])
async def test_a_body_that_is_not_base64_is_poison_without_a_call(storage: Storage, body: bytes) -> None:
    """At the first poll, and as it was sent."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage) -> None:
        seen.put(msg)

    storage.send(queue, body, encoded=False)
    async with listening(app, storage):
        await until(lambda: storage.raw(f"{queue}-poison") == [body.decode()])
    assert seen.is_empty


async def test_bodies_are_plain_text_where_host_json_says_so(storage: Storage) -> None:
    """`messageEncoding` none."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    @app.queue_output(arg_name="out", queue_name=f"{queue}-out", connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage, out: func.Out[str]) -> None:
        seen.put(msg.get_body())
        out.set("plain <b> too")

    storage.send(queue, "plain <a>", encoded=False)
    async with listening(app, storage, queues=replace(QUICK, is_base64=False)):
        assert await seen.next() == b"plain <a>"
        await until(lambda: storage.raw(f"{queue}-out") == ["plain <b> too"])


async def test_so_many_run_at_once_as_host_json_says(storage: Storage) -> None:
    """A batch is fetched while no more than `newBatchThreshold` run: batchSize and it are the most."""
    app, seen, queue, gate = func.FunctionApp(), Seen(), storage.queue(), asyncio.Event()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage) -> None:
        seen.put(msg.get_body())
        await gate.wait()

    bodies = [f"{number}".encode() for number in range(10)]
    for body in bodies:
        storage.send(queue, body)
    async with listening(app, storage, queues=replace(QUICK, batch_size=4, new_batch_threshold=2)):
        first = await seen.several(4)
        with pytest.raises(queues.Empty):
            await seen.next(1)
        gate.set()
        rest = await seen.several(6)

    assert sorted(first + rest) == bodies


def calls_of(azurite: Azurite, position: LogPosition) -> list[tuple[str, str]]:
    """Return method and queue of what was asked of the emulator since."""
    return [(call.method, call.container) for call in azurite.calls_since(position)]


async def test_a_message_is_hidden_anew_while_it_is_worked_on(storage: Storage, azurite: Azurite) -> None:
    """At half of its ten minutes; its end is written by the new right to it."""
    app, seen, queue, gate, clock = func.FunctionApp(), Seen(), storage.queue(), asyncio.Event(), ManualClock()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage) -> None:
        seen.put(msg)
        await gate.wait()

    storage.send(queue, "long")
    async with listening(app, storage, clock=clock):
        await seen.next()
        position = azurite.position()
        clock.advance(300)
        await until(lambda: ("PUT", queue) in calls_of(azurite, position))
        gate.set()
        await until(lambda: storage.count(queue) == 0)


def test_the_pause_doubles_after_each_poll_that_finds_nothing() -> None:
    """With some chance in it, up to the longest, which stays; a message starts anew (recorded, Production)."""
    for _ in range(100):
        pauses = Pauses(60.0)
        seconds = [pauses.after(had_messages=False) for _ in range(12)]

        assert all(0.1 + 0.08 * 2**n <= pause <= 0.1 + 0.12 * 2**n for n, pause in enumerate(seconds[:9]))
        assert seconds[-2:] == [60.0, 60.0]
        assert pauses.after(had_messages=True) == 0.1
        assert pauses.after(had_messages=False) < 0.23
