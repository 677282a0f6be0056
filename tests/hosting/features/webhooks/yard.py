"""Processes that send webhooks of ended runs, by moved time, to receivers that hang or refuse at will."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hosting.core.thread.run_request import RunRequest
from hosting.features.webhooks.client import Posted
from hosting.features.webhooks.delivery import Delivery, WebhookOrder
from hosting.features.webhooks.webhooks import Webhooks
from tests.support.cluster.cluster import ADDRESS, HUB, AppProcess, Cluster
from tests.support.cluster.life import Life
from tests.support.receiver import SECRET, webhooks_of

HANGS = "https://hangs.example/hook"
URL = "https://example.com/hook"


class Yard:
    """Receivers answer with `answers` in turn, then with `answer`; one that hangs does once the `gate` is open, or
    is given up after `hung_seconds`.

    `posts` are the tries that they saw: when, and with which id and body.
    """

    def __init__(self, cluster: Cluster | None = None) -> None:
        self.cluster = cluster or Cluster(settings={"AGENT_WEBHOOK_SECRET": SECRET})
        self.cluster.run_clocks()
        self.gate = asyncio.Event()
        self.hung_seconds: float | None = None
        self.answer = Posted(503)
        self.answers: list[Posted] = []
        self.posts: list[tuple[float, str, bytes]] = []
        self.at_work = self.most_at_work = 0

    def process(self, life: Life | None = None, **settings: str) -> AppProcess:
        """Begin a process of the app."""
        process = self.cluster.process(life, **settings)
        webhooks_of(process.app)._post = self._post
        return process

    @property
    def app(self) -> AppProcess:
        """The first process that lives."""
        assert self.cluster.alive is not None
        return self.cluster.alive

    @property
    def webhooks(self) -> Webhooks:
        """The sender of that process."""
        return webhooks_of(self.app.app)

    async def end(self, url: str = URL) -> WebhookOrder:
        """Have a run end of which a receiver is told; the engine has the signal for it."""
        run_id = await self.app.run("hi", request=RunRequest(message="hi", webhook=url))
        return WebhookOrder(ADDRESS, run_id, "request")

    async def deliver(self) -> None:
        """Have all operations done that were signalled."""
        await self.cluster.deliver(self.app)

    async def pass_time(self, seconds: float) -> None:
        """Let clocks ring, and have done what they signal."""
        await asyncio.sleep(seconds)
        await self.deliver()

    async def record(self, order: WebhookOrder) -> Delivery:
        """Return what is stored of a delivery."""
        found = await self.webhooks.deliveries.read(order, 0)
        assert found is not None
        return found

    async def left(self) -> list[str]:
        """Return the clocks that sleep, and the notes of deliveries that were not taken."""
        listed = await self.cluster.attachments.put_between(f"{HUB}.not-taken", 0, self.cluster.wall() + 1)
        return [*self.cluster.engine.clocks, *(key for _, key in listed)]

    async def _post(self, url: str, headers: dict[str, str], body: bytes, hosts: Sequence[str]) -> Posted:
        self.posts.append((self.cluster.wall(), headers["webhook-id"], body))
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            if url == HANGS:
                await asyncio.wait_for(self.gate.wait(), self.hung_seconds)
        except TimeoutError:
            return Posted(problem="timeout")
        finally:
            self.at_work -= 1
        return self.answers.pop(0) if self.answers else self.answer
