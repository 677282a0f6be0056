"""The routes of one thread: how it is read, exported, reset and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from hosting.core.hooks import ThreadData
from hosting.core.services import Services
from hosting.http import routes
from hosting.http.bodies import Erasure, Export, ExportedAttachment, with_members
from hosting.http.exports import Exports
from hosting.http.parameters import read_limit, read_window
from hosting.http.replies import Reply, Streamed, json_reply, runs_reply, thread_headers
from hosting.http.request import Bound, HttpRequest
from hosting.http.runs import own_day_of
from hosting.http.thread_replies import (
    deleting_reply,
    done_reply,
    erasure_fields,
    messages_reply,
    thread_reply,
)
from hosting.plan import Plan
from hosting.settings import Settings


class ThreadHandlers:
    """The handlers of the routes of one thread."""

    def __init__(self, services: Services, settings: Settings, exports: Exports) -> None:
        self._threads, self._reads = services.threads, services.large_reads
        self._hooks = services.hooks
        self._settings = settings
        self._exports = exports
        self._data = services.thread_data

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(routes.THREAD, self._read),
            Bound(routes.MESSAGES, self._messages),
            Bound(routes.RUNS, self._runs),
            Bound(routes.export_route(export_body(self._data)), self._export),
            Bound(routes.erasure_route(erasure_body(self._data)), self._erasure),
            Bound(routes.RESET, self._reset),
            Bound(routes.DELETE_THREAD, self._delete),
        )

    async def _read(self, request: HttpRequest) -> Reply:
        threads, view = self._threads, await self._threads.view(request.address, request.caller.client)
        balance = self._hooks[view.address.agent].balance
        budget = None if balance is None else await balance.of_thread(view.address, view.head, own_day_of(request))
        return thread_reply(request.agent, view, threads.size_bytes(view), self._settings.state_limit_bytes, budget)

    async def _messages(self, request: HttpRequest) -> Reply:
        address, window = request.address, read_window(request.query)
        async with self._reads.turn(address.owner):
            page = await self._threads.messages(address, window, request.caller.client)
            shows = request.agent.options.shows_thoughts
            return await asyncio.to_thread(messages_reply, request.thread_id, page, shows_thoughts=shows)

    async def _runs(self, request: HttpRequest) -> Reply:
        address, limit = request.address, read_limit(request.query)
        async with self._reads.turn(address.owner):
            return runs_reply(request.thread_id, *await self._threads.runs(address, limit, request.caller.client))

    async def _export(self, request: HttpRequest) -> Streamed:
        return await self._exports.thread(request)

    async def _erasure(self, request: HttpRequest) -> Reply:
        agent, thread_id = request.agent, request.thread_id
        receipt = await self._threads.receipt(request.address)
        return json_reply(200, erasure_fields(agent.name, request.address, receipt), thread_headers(thread_id))

    async def _reset(self, request: HttpRequest) -> Reply:
        await self._threads.reset(request.address, request.caller.client)
        return done_reply(request.thread_id)

    async def _delete(self, request: HttpRequest) -> Reply:
        thread_id = request.thread_id
        is_done = await self._threads.delete(request.address, request.caller.client, self._settings.wait_seconds)
        return done_reply(thread_id) if is_done else deleting_reply(thread_id)


def export_body(data: Sequence[ThreadData]) -> Any:
    """Return the body of a thread's export, with the members that features add."""
    members = {name: type_ for part in data for name, type_ in part.members.items()}
    contents = {name: list[ExportedAttachment] for part in data for name in part.contents}
    return with_members(Export, {**members, **contents})


def erasure_body(data: Sequence[ThreadData]) -> Any:
    """Return the body of the receipt of a thread's deletion, with the counts that features add."""
    return with_members(Erasure, {name: int for part in data for name in part.counts})


def exports_of(services: Services, plan: Plan) -> Exports:
    """Return the exports of the app's threads; its callers take turns."""
    return Exports(services.threads, services.large_reads, plan, services.log.clocks, services.thread_data)
