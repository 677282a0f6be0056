"""The HTTP triggers of agents and threads: listed, read, exported, reset, deleted (http-api.md section 3)."""

from __future__ import annotations

import time

import azure.durable_functions as df

from hosting.entity.threads import Threads
from hosting.functions.answering import Asked, register_route
from hosting.plan import Plan
from hosting.reply.routes import AGENTS, DELETE_THREAD, ERASURE, EXPORT, MESSAGES, RESET, RUNS, THREAD, THREADS
from hosting.reply.run_replies import Reply
from hosting.reply.thread_replies import (
    agents_reply,
    done_reply,
    erasure_reply,
    export_reply,
    messages_reply,
    queued_reply,
    runs_reply,
    thread_reply,
    threads_reply,
)
from hosting.request.pages import read_cursor, read_limit, read_window
from hosting.settings import Settings


def register_threads(app: df.DFApp, plan: Plan, threads: Threads, settings: Settings) -> None:
    """Register the routes of all agents' threads."""
    routes = ThreadRoutes(plan, threads, settings)
    handlers = {
        AGENTS: routes.agents,
        THREADS: routes.list,
        THREAD: routes.read,
        MESSAGES: routes.messages,
        RUNS: routes.runs,
        EXPORT: routes.export,
        ERASURE: routes.erasure,
        RESET: routes.reset,
        DELETE_THREAD: routes.delete,
    }
    for route, handler in handlers.items():
        register_route(app, route, handler)


class ThreadRoutes:
    """One method per route; each answers or raises a `HostingError` of `errors.REQUEST_ERRORS`."""

    def __init__(self, plan: Plan, threads: Threads, settings: Settings) -> None:
        self._plan = plan
        self._threads = threads
        self._settings = settings

    async def agents(self, asked: Asked) -> Reply:
        """Answer `GET agents`."""
        return agents_reply(list(self._plan.agents.values()), asked.base_url)

    async def list(self, asked: Asked) -> Reply:
        """Answer `GET .../threads`."""
        agent, limit, cursor = asked.agent(self._plan), read_limit(asked.query), read_cursor(asked.query)
        return threads_reply(await self._threads.page(agent.name, limit, cursor, asked.client))

    async def read(self, asked: Asked) -> Reply:
        """Answer `GET .../threads/<thread>`."""
        agent = asked.agent(self._plan)
        view = await self._threads.view(agent.name, asked.thread_id, asked.client)
        return thread_reply(agent.name, view, self._settings.state_limit_bytes)

    async def messages(self, asked: Asked) -> Reply:
        """Answer `GET .../messages`."""
        agent, window = asked.agent(self._plan), read_window(asked.query)
        page = await self._threads.messages(agent.name, asked.thread_id, window, asked.client)
        return messages_reply(asked.thread_id, page)

    async def runs(self, asked: Asked) -> Reply:
        """Answer `GET .../runs`."""
        agent, thread_id, limit = asked.agent(self._plan), asked.thread_id, read_limit(asked.query)
        return runs_reply(thread_id, await self._threads.runs(agent.name, thread_id, limit, asked.client))

    async def export(self, asked: Asked) -> Reply:
        """Answer `GET .../export`."""
        agent = asked.agent(self._plan)
        kept = await self._threads.export(agent.name, asked.thread_id, asked.client)
        return export_reply(agent.name, asked.thread_id, kept, time.time())

    async def erasure(self, asked: Asked) -> Reply:
        """Answer `GET .../erasure`."""
        agent, thread_id = asked.agent(self._plan), asked.thread_id
        return erasure_reply(agent.name, thread_id, await self._threads.receipt(agent.name, thread_id))

    async def reset(self, asked: Asked) -> Reply:
        """Answer `POST .../reset`."""
        agent, thread_id = asked.agent(self._plan), asked.thread_id
        is_done = await self._threads.reset(agent.name, thread_id, asked.client, self._settings.wait_seconds)
        return done_reply(thread_id) if is_done else queued_reply(thread_id, "reset")

    async def delete(self, asked: Asked) -> Reply:
        """Answer `DELETE .../threads/<thread>`."""
        agent, thread_id = asked.agent(self._plan), asked.thread_id
        is_done = await self._threads.delete(agent.name, thread_id, asked.client, self._settings.wait_seconds)
        return done_reply(thread_id) if is_done else queued_reply(thread_id, "delete")
