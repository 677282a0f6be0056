"""The wish that a run should end, carried from the loop that hears of it to the loop on which the agent runs."""

from __future__ import annotations

import asyncio
from typing import Any


class Stop:
    """Cancels a task of another loop when asked to, also when it is asked before there is a task."""

    def __init__(self) -> None:
        self.is_requested = False
        self._task: asyncio.Task[Any] | None = None

    def request(self) -> None:
        """Ask from any thread; asking again changes nothing."""
        self.is_requested = True
        self._cancel()

    def bind(self, task: asyncio.Task[Any]) -> None:
        """Name the task that ends at its next await once asked; called on the task's own loop."""
        self._task = task
        if self.is_requested:
            self._cancel()

    def _cancel(self) -> None:
        task = self._task
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)
