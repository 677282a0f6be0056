"""Queue triggers of any app against the emulator's queues, as the real host was recorded to serve them."""

from __future__ import annotations

import asyncio
import json
import queue as queues
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import azure.functions as func
import pytest

from devhost.triggers.queue_listener import Pauses
from devhost.triggers.queue_settings import QueueSettings
from tests.devhost.triggers.storage import QUICK, Seen, Storage, listening, until
from tests.support.azurite import Azurite
from tests.support.engine_clocks import ManualClock

pytestmark = [pytest.mark.behaviour("devhost.queue-trigger")]


class Taker:
    """An app with a queue of its own; each message is put into `seen`, and `work` is then done with it."""

    def __init__(self, storage: Storage, work: Callable[[func.QueueMessage], Awaitable[None]] | None = None) -> None:
        self.seen, self.queue, self.app = Seen(), storage.queue(), func.FunctionApp()

        @self.app.queue_trigger(arg_name="msg", queue_name=self.queue, connection="AzureWebJobsStorage")
        async def take(msg: func.QueueMessage) -> None:
            self.seen.put(msg)
            if work is not None:
                await work(msg)


async def test_a_function_is_given_each_message_as_it_was_sent(storage: Storage) -> None:
    """Its body, its id, how often it was delivered, and that it is hidden for ten minutes.

    A member of a JSON body takes the place of metadata, whatever its case: `msg.id` cannot tell a delivery's id.
    """
    taker, chosen = Taker(storage), {"ID": "id", "PopReceipt": "pop_receipt"}
    bodies = ["plain é ✓\r\n ", "", " a\r\n\tb ", "[1,2]", '"quoted"', "5", "aW5uZXI="]
    sent = {body: storage.send(taker.queue, body) for body in bodies}
    for name in chosen:
        storage.send(taker.queue, json.dumps({name: "chosen", "list": [1]}))
    async with listening(taker.app, storage):
        messages = await taker.seen.several(len(bodies) + len(chosen))
        await until(lambda: storage.count(taker.queue) == 0)

    received = {message.get_body().decode(): message for message in messages}
    assert {body: (received[body].id, received[body].dequeue_count) for body in bodies} == {
        body: (given_id, 1) for body, given_id in sent.items()
    }
    message = received[bodies[0]]
    assert timedelta(minutes=10) <= message.time_next_visible - message.insertion_time < timedelta(minutes=11)
    assert message.expiration_time - message.insertion_time == timedelta(days=7)
    for name, shown in chosen.items():
        assert getattr(received[json.dumps({name: "chosen", "list": [1]})], shown) == "chosen"


@pytest.mark.parametrize(("annotation", "shown"), [(None, func.QueueMessage), (str, str), (bytes, str)])
async def test_a_generic_trigger_is_a_queue_trigger(storage: Storage, annotation: type | None, shown: type) -> None:
    """`%SETTING%` names its queue, or a part of its name; the host sends a text, also where bytes are asked for."""
    app, seen, queue = func.FunctionApp(), Seen(), storage.queue()

    def take(msg):
        seen.put(msg)

    take.__annotations__ |= {"msg": annotation} if annotation else {}
    app.generic_trigger(arg_name="msg", type="queueTrigger", queueName="t%REST%", connection="Other")(take)
    storage.send(queue, "hello")
    async with listening(app, storage, Other=storage.setting, REST=queue[1:]):
        message = await seen.next()

    assert isinstance(message, shown)
    assert (message if shown is str else message.get_body().decode()) == "hello"


@pytest.mark.parametrize(("settings", "tries"), [(QUICK, 5), (replace(QUICK, max_dequeue_count=2), 2)])
async def test_a_message_that_fails_is_tried_again_and_ends_in_the_poison_queue(
    storage: Storage, settings: QueueSettings, tries: int
) -> None:
    """With the same body, a new id and no dequeue count; others are worked on meanwhile."""

    async def fail(message: func.QueueMessage) -> None:
        if message.get_body() == b"bad":
            raise ValueError("a bad message")

    taker = Taker(storage, fail)
    bad = storage.send(taker.queue, "bad")
    storage.send(taker.queue, "good")
    async with listening(taker.app, storage, queues=settings):
        calls = [(each.get_body(), each.dequeue_count) for each in await taker.seen.several(tries + 1)]
        await until(lambda: storage.bodies(f"{taker.queue}-poison") == [b"bad"])
        await until(lambda: storage.count(taker.queue) == 0)

    assert sorted(calls) == [*((b"bad", count) for count in range(1, tries + 1)), (b"good", 1)]
    [poison] = storage.queues.get_queue_client(f"{taker.queue}-poison").peek_messages()
    assert (poison.id == bad, poison.dequeue_count) == (False, 0)


async def test_a_body_that_cannot_be_read_is_poison_without_a_call(storage: Storage) -> None:
    """What is not base64 at the first poll, what is not UTF-8 behind it after five tries; as it was sent."""
    taker, bodies = Taker(storage), [b"hello world, not base64!", b'{"a": 1}', b"abc", b"AP8B/g=="]
    for body in bodies:
        storage.send(taker.queue, body, encoded=False)
    async with listening(taker.app, storage):
        await until(lambda: len(storage.raw(f"{taker.queue}-poison")) == len(bodies))
    assert sorted(storage.raw(f"{taker.queue}-poison")) == sorted(body.decode() for body in bodies)
    assert taker.seen.is_empty


async def test_bodies_are_plain_text_where_host_json_says_so(storage: Storage) -> None:
    app, queue = func.FunctionApp(), storage.queue()

    @app.queue_trigger(arg_name="msg", queue_name=queue, connection="AzureWebJobsStorage")
    @app.queue_output(arg_name="out", queue_name=f"{queue}-out", connection="AzureWebJobsStorage")
    async def take(msg: func.QueueMessage, out: func.Out[str]) -> None:
        out.set(f"{msg.get_body().decode()} too")

    storage.send(queue, "plain <a>", encoded=False)
    async with listening(app, storage, queues=replace(QUICK, is_base64=False)):
        await until(lambda: storage.raw(f"{queue}-out") == ["plain <a> too"])


async def test_so_many_run_at_once_as_host_json_says(storage: Storage) -> None:
    """A batch is fetched while no more than `newBatchThreshold` run: batchSize and it are the most."""
    gate = asyncio.Event()
    taker = Taker(storage, lambda _: gate.wait())
    for number in range(10):
        storage.send(taker.queue, f"{number}")
    async with listening(taker.app, storage, queues=replace(QUICK, batch_size=4, new_batch_threshold=2)):
        first = await taker.seen.several(4)
        with pytest.raises(queues.Empty):
            await taker.seen.next(0.5)
        gate.set()
        rest = await taker.seen.several(6)

    assert sorted(message.get_body() for message in first + rest) == [b"%d" % number for number in range(10)]


async def test_a_message_is_hidden_anew_while_it_is_worked_on(storage: Storage, azurite: Azurite) -> None:
    """At half of its ten minutes; its end is written by the new right to it."""
    gate, clock = asyncio.Event(), ManualClock()
    taker = Taker(storage, lambda _: gate.wait())
    storage.send(taker.queue, "long")
    async with listening(taker.app, storage, clock=clock):
        await taker.seen.next()
        position = azurite.position()
        clock.advance(300)
        await until(
            lambda: ("PUT", taker.queue) in {(call.method, call.container) for call in azurite.calls_since(position)}
        )
        gate.set()
        await until(lambda: storage.count(taker.queue) == 0)


def test_the_pause_doubles_after_each_poll_that_finds_nothing() -> None:
    """With some chance in it, up to the longest, which stays; a message starts anew (recorded, Production)."""
    pauses = Pauses(60.0)
    seconds = [pauses.after(had_messages=False) for _ in range(12)]

    assert all(0.1 + 0.08 * 2**n <= pause <= 0.1 + 0.12 * 2**n for n, pause in enumerate(seconds[:9]))
    assert seconds[-2:] == [60.0, 60.0]
    assert pauses.after(had_messages=True) == 0.1
    assert pauses.after(had_messages=False) < 0.23
