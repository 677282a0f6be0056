"""Webhooks while everything goes wrong at once: receivers that hang, signals that come twice, stores away, deaths."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from hosting.errors import AttachmentsUnavailableError, EngineUnavailableError
from hosting.features.webhooks.client import Posted
from hosting.features.webhooks.delivery import WebhookOrder
from hosting.features.webhooks.webhooks import Webhooks
from tests.hosting.features.webhooks.yard import Yard
from tests.support.process import AGENT
from tests.support.seeds import repeated

pytestmark = [pytest.mark.behaviour("webhooks.again"), pytest.mark.behaviour("webhooks.apart")]

STEPS = 40
ROUNDS = 20
LONG = 40_000.0
"""Longer than the longest pause."""


class Storm:
    """Two processes and the signals that the engine holds; `kills` where they die and their store is away."""

    def __init__(self, yard: Yard, random: Random, *, kills: bool) -> None:
        self._yard, self._random, self._kills = yard, random, kills
        self._processes = [yard.webhooks(), yard.webhooks()]
        self.orders: list[WebhookOrder] = []
        self._signals: list[WebhookOrder] = []

    async def run(self) -> None:
        self.orders = [await self._yard.end() for _ in range(4)]
        self._signals = list(self.orders)
        steps: list[Any] = [self._deliver, self._deliver, self._again, self._wake, self._wait, self._answer]
        for _ in range(STEPS):
            await self._random.choice([*steps, *([self._die, self._lose_store] if self._kills else [])])()
        self._yard.store.away, self._yard.engine.is_away, self._yard.answer = "", False, Posted(204)
        self._yard.gate.set()
        await self._yard.settle()
        for _ in range(ROUNDS):
            self._processes = [self._yard.webhooks(5.0)]
            while self._signals:
                await self._deliver()
            self._yard.now += LONG
            await self._wake()

    async def _deliver(self) -> None:
        order = self._random.choice(self._signals or self.orders)
        if order in self._signals:
            self._signals.remove(order)
        try:
            await self._yard.deliver(order, self._process())
        except (AttachmentsUnavailableError, EngineUnavailableError):
            self._signals.append(order)

    async def _again(self) -> None:
        found = await self._process().again(self._random.choice(self.orders))
        if found is not None:
            self._signals.append(found[0])

    async def _wake(self) -> None:
        with suppress(AttachmentsUnavailableError):
            await self._yard.engine.wake(self._process())

    async def _wait(self) -> None:
        if self._kills or not self._yard.at_work:
            self._yard.now += self._random.choice([1, 20, 60, 140, 200, 700, 4000])

    async def _answer(self) -> None:
        self._yard.answer = self._random.choice([Posted(204), Posted(503), Posted(503)])
        self._yard.gate.set()
        await self._yard.settle()
        self._yard.gate.clear()

    async def _die(self) -> None:
        self._yard.abandon()
        self._processes = [self._yard.webhooks(), self._yard.webhooks()]

    async def _lose_store(self) -> None:
        self._yard.store.away = self._random.choice(["", "", "hub.log", "hub.not-taken"])
        self._yard.engine.is_away = self._random.random() < 0.2

    def _process(self) -> Webhooks:
        return self._random.choice(self._processes)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [False, True])
async def test_whatever_happens_all_is_taken_in_the_end_and_nothing_is_left(seed: int, *, kills: bool) -> None:
    """And where nobody dies, each try that a receiver sees is on record: none is made twice."""
    for number in range(repeated(15, 1000)):
        yard = Yard()
        storm = Storm(yard, Random(f"{seed} {number}"), kills=kills)
        await storm.run()
        records = [await yard.record(order) for order in storm.orders]
        listed = await yard.webhooks().deliveries.not_taken(AGENT, None, 10, yard.now + 1)
        left = await yard.left()
        yard.process.loop.close()

        assert [record.state for record in records] == ["delivered"] * 4, number
        assert ([*listed.deliveries], left) == ([], []), number
        assert kills or len(yard.posts) == sum(len(record.tries) for record in records), number
