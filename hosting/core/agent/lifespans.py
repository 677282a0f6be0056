"""The agents' open connections: opened once in a process, before the first run, and closed at the process's end.

An agent that is an asynchronous context manager (agent-framework's are: theirs opens the client and the MCP tools) is
entered by a task of its own, which also leaves it, because many of the things behind it must be left by the task that
entered them. If opening fails or takes too long, so does the run that needed it, and the next run tries again.

An opened agent may break later. The servers of an agent's tools are looked after one by one (`connections`). Of all
else only a run that fails shows that it broke. If a broken connection explains its error, the agent is left as
soon as no run uses it, and opened again for the next one.

The agents of a workflow open the servers of their tools when they are first called. Those that a graph has for itself
are left with it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from hosting.core.agent.causes import is_of_connection
from hosting.core.agent.connections import OPENING_SECONDS, UnreachableError, tool_servers
from hosting.core.agent.framework import opens_more_than_servers

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0


@dataclass(eq=False)
class Lifespan:
    """An agent that is open or about to be. `is_doubted` once a run failed as by a broken connection."""

    agent: AbstractAsyncContextManager[object]
    opened: asyncio.Future[None]
    users: int = 0
    is_doubted: bool = False
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    unused: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        # In no run's context: an opened agent outlives the first run, and its trace.
        self.task = contextvars.Context().run(asyncio.get_running_loop().create_task, self._hold())
        self.task.set_name(f"agent {_name_of(self.agent)}")

    async def _hold(self) -> None:
        try:
            async with self.agent:
                self.opened.set_result(None)
                await self.closing.wait()
        except Exception as error:
            if self.opened.done():
                logger.exception("%s could not be closed.", self.task.get_name())
            else:
                self.opened.set_exception(error)
                self.opened.exception()  # perhaps no run waits for it any more
        finally:
            self.opened.cancel()

    async def wait_until_open(self) -> None:
        """Return once the agent is open; raises `UnreachableError` if it cannot be, or not in time."""
        name = _name_of(self.agent)
        await asyncio.wait((self.opened,), timeout=OPENING_SECONDS)
        if not self.opened.done():
            self.task.cancel()
            await asyncio.gather(*(server.end() for server in tool_servers(self.agent)))
        if not self.opened.done() or self.opened.cancelled():
            raise UnreachableError(
                f"Agent {name!r} did not open within {OPENING_SECONDS:g} s: its client or a tool server does not "
                "answer."
            )
        if (error := self.opened.exception()) is not None:
            raise UnreachableError(
                f"Agent {name!r} could not be opened: its client or a tool server cannot be reached."
            ) from error

    async def leave(self) -> None:
        """Leave the agent; if that takes longer than 5 s, it is left as it is."""
        self.closing.set()
        _, late = await asyncio.wait((self.task,), timeout=CLOSE_SECONDS)
        if late:
            logger.warning("%s was not closed within %g s.", self.task.get_name(), CLOSE_SECONDS)


class Lifespans:
    """The agents that are open, on the agent loop."""

    def __init__(self) -> None:
        self.held: dict[int, Lifespan] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def use(self, agents: Iterable[object]) -> AsyncIterator[None]:
        """Have the agents open within the block; raises `UnreachableError` where one, or a server of it, is away."""
        used: list[Lifespan] = []
        try:
            for agent in agents:
                if isinstance(agent, AbstractAsyncContextManager):
                    used.append(await self._open(agent))
                for server in tool_servers(agent):
                    await server.ready()
            yield
        except Exception as error:
            if is_of_connection(error):
                for lifespan in used:
                    lifespan.is_doubted = opens_more_than_servers(lifespan.agent)
            raise
        finally:
            for lifespan in used:
                lifespan.users -= 1
                if not lifespan.users:
                    lifespan.unused.set()

    async def _open(self, agent: AbstractAsyncContextManager[object]) -> Lifespan:
        await self._leave_doubted(agent)
        lifespan = self.held.get(id(agent))
        if lifespan is None:
            tool_servers(agent)  # from before the framework connects to them
            lifespan = self.held[id(agent)] = Lifespan(agent, asyncio.get_running_loop().create_future())
            lifespan.task.add_done_callback(lambda _: self._forget(agent, lifespan))
        try:
            await lifespan.wait_until_open()
        except UnreachableError:
            self._forget(agent, lifespan)
            raise
        lifespan.users += 1
        lifespan.unused.clear()
        return lifespan

    async def _leave_doubted(self, agent: AbstractAsyncContextManager[object]) -> None:
        """Leave an agent that is to be opened again, once no run uses it; after 30 s it is used as it is."""
        while (lifespan := self.held.get(id(agent))) is not None and lifespan.is_doubted:
            if lifespan.users:
                await asyncio.wait((unused := asyncio.ensure_future(lifespan.unused.wait()),), timeout=OPENING_SECONDS)
                unused.cancel()
            if lifespan.users:
                return
            await lifespan.leave()
            self._forget(agent, lifespan)

    def _forget(self, agent: object, lifespan: Lifespan) -> None:
        if self.held.get(id(agent)) is lifespan:
            del self.held[id(agent)]

    @contextmanager
    def leaving(self, agents: Iterable[Any]) -> Iterator[None]:
        """Have the agents' connections of this block closed after it, without waiting."""
        try:
            yield
        finally:
            for agent in agents:
                task = asyncio.ensure_future(_close(agent))
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Leave every agent, but wait for 5 s at most, because the process is about to end."""
        leaving = [asyncio.wait((task,), timeout=CLOSE_SECONDS) for task in self._leaving]
        await asyncio.gather(*(lifespan.leave() for lifespan in list(self.held.values())), *leaving)


async def _close(agent: Any) -> None:
    try:
        await agent.close()
    except Exception:
        logger.exception("agent %s could not be closed.", _name_of(agent))


def _name_of(agent: Any) -> str:
    return str(getattr(agent, "name", None) or type(agent).__name__)
