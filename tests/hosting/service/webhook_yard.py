"""Ends of runs whose webhooks are sent by processes over one store, by one clock, to receivers that hang at will."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hosting.errors import AttachmentsUnavailableError
from hosting.names import StoreKey
from hosting.plan import AgentPlan
from hosting.request.run_request import RunRequest
from hosting.service.deliveries import Delivery, WebhookOrder
from hosting.service.webhook_client import Posted
from hosting.service.webhooks import Webhooks
from hosting.stores.memory import MemoryObjects, SharedMemory
from hosting.webhooks import WebhookRules
from tests.hosting.service.process import ADDRESS, AGENT, Engine, Process, call
from tests.support.receiver import GUARD_SECONDS

HANGS = "https://hangs.example/hook"


class Store(MemoryObjects):
    """A store in which nothing can be put below `away`."""

    away = ""

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        if self.away == store_key.agent:
            raise AttachmentsUnavailableError
        await super().put(store_key, objects)


class Yard:
    """Ends of runs, processes that send them by one clock, and receivers of which some hang while `gate` is closed."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.store = Store(lambda: self.now)
        self.process = Process(SharedMemory(), self.store, Engine())
        self.gate = asyncio.Event()
        self.answer = Posted(204)
        self.posts: list[str] = []
        self.at_work = self.most_at_work = 0

    async def end(self, url: str = HANGS) -> WebhookOrder:
        """Have a run end, and return what is to be sent of it."""
        run = await self.process.start(replace(call(), request=RunRequest(message="hi", webhook=url)))
        await self.process.deliver(run.run_id)
        return WebhookOrder(ADDRESS, run.run_id, "request")

    def webhooks(self, prompt_seconds: float = 0.0) -> Webhooks:
        """Return the webhooks of a new process, for which every try takes long that hangs at all."""
        log, rules = self.process.log_at(lambda: self.now), WebhookRules((b"s" * 32,), ())
        made = Webhooks(log, self.store, "hub", rules, poster=self.post, prompt_seconds=prompt_seconds)
        made.add(AgentPlan(AGENT, self.process.agent, True, None))  # type: ignore[arg-type]
        return made

    async def post(self, url: str, headers: dict[str, str], body: bytes, hosts: Sequence[str]) -> Posted:
        """Take one."""
        self.posts.append(headers["webhook-id"])
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        if url == HANGS:
            await self.gate.wait()
        self.at_work -= 1
        return self.answer

    def abandon(self) -> None:
        """Have every process be gone that waits for a receiver."""
        self.gate, self.at_work = asyncio.Event(), 0

    async def settle(self) -> None:
        """Have what was answered be kept."""
        for _ in range(30):
            await asyncio.sleep(0)

    async def sweep(self) -> None:
        """Have another process find what is due, and try it until nothing hangs any more."""
        webhooks = self.webhooks()
        for order in await webhooks.notes.due():
            await webhooks.deliver(order)

    async def record(self, order: WebhookOrder) -> Delivery:
        """Return what came of one so far."""
        found = await self.webhooks().deliveries.read(order, 0)
        assert found is not None
        return found

    async def until_taken(self, *orders: WebhookOrder) -> None:
        """Return once all of these were taken, under the guard."""

        async def taken() -> None:
            for order in orders:
                while (await self.record(order)).state != "delivered":  # noqa: ASYNC110 - another process writes it
                    await asyncio.sleep(0)
            while await self.left():  # noqa: ASYNC110
                await asyncio.sleep(0)

        await asyncio.wait_for(taken(), GUARD_SECONDS)

    async def left(self) -> list[str]:
        """Return what is still to be done, and what is listed as not taken."""
        kept = [await self.store.put_between(agent, 0, self.now + 1) for agent in ("hub.webhooks", "hub.not-taken")]
        return [key for found in kept for _, key in found]
