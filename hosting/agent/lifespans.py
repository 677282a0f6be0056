"""What agents hold open while the process lives: connections to MCP servers, model clients.

Theory. An agent that is an asynchronous context manager (agent-framework's are: theirs opens the client and the MCP
tools) is entered once, before its first run, and left when the process ends. A task of its own enters and leaves each
one, because much of what is behind it wants to be left by the task that entered. Opening that fails fails the run that
asked for it, and the next run tries again. Belongs to the agent loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from contextlib import AbstractAsyncContextManager

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0


class Lifespans:
    """The agents that are open."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}

    async def open(self, agent: object) -> None:
        """Return once the agent is open, for whoever asks first and everybody after; raises what opening it raised."""
        if not isinstance(agent, AbstractAsyncContextManager):
            return
        held = self._held.get(id(agent))
        if held is None:
            held = self._held[id(agent)] = _Held(agent)
            held.task.add_done_callback(lambda _: self._held.pop(id(agent), None))
        await asyncio.shield(held.opened)

    async def close(self) -> None:
        """Leave every agent; what takes longer than 5 s is left as it is, because the process is about to end."""
        tasks = [held.task for held in self._held.values()]
        for held in self._held.values():
            held.closing.set()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in late:
                logger.warning("%s was not closed within %g s.", task.get_name(), CLOSE_SECONDS)


class _Held:
    """One agent and the task that enters and leaves it."""

    def __init__(self, agent: AbstractAsyncContextManager[object]) -> None:
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        self.closing = asyncio.Event()
        # In no run's context: what is opened outlives the first run, and its trace.
        self.task = contextvars.Context().run(loop.create_task, self._hold(agent))
        self.task.set_name(f"agent {getattr(agent, 'name', type(agent).__name__)}")

    async def _hold(self, agent: AbstractAsyncContextManager[object]) -> None:
        try:
            async with agent:
                self.opened.set_result(None)
                await self.closing.wait()
        except Exception as error:
            if self.opened.done():
                logger.exception("%s could not be closed.", self.task.get_name())
            else:
                self.opened.set_exception(error)
