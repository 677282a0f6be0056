"""The scripted agent in a process that kills itself before or after one step of its first turn.

KILL_AT names the step, as `before open` or `after append 2`: `open` of the run log, the `signal` of the entity, or the
n-th `append` to the log.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Awaitable
from typing import Any, TypeVar

from scripted import scripted_agent

import hosting.app
import hosting.functions.answering
from hosting.functions.client import DurableEntityClient

T = TypeVar("T")
kill_at = os.environ.get("KILL_AT", "")
passed: Counter[str] = Counter()


async def stepped(name: str, step: Awaitable[T]) -> T:
    """Do the step, unless this process is to die before or after it."""
    passed[name] += 1
    here = name if passed[name] == 1 else f"{name} {passed[name]}"
    if kill_at == f"before {here}":
        os.kill(os.getpid(), signal.SIGKILL)
    done = await step
    if kill_at == f"after {here}":
        os.kill(os.getpid(), signal.SIGKILL)
    return done


class SteppedStore:
    """The real store, its two writing steps counted."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def open(self, *arguments: Any) -> Any:
        return await stepped("open", self._store.open(*arguments))

    async def append(self, *arguments: Any, **named: Any) -> Any:
        return await stepped("append", self._store.append(*arguments, **named))


class SteppedClient(DurableEntityClient):
    """The real client, its signal counted."""

    async def signal(self, *arguments: Any) -> None:
        await stepped("signal", super().signal(*arguments))


choose = hosting.app_stores.choose_store
hosting.app_stores.choose_store = lambda *arguments: SteppedStore(choose(*arguments))
hosting.functions.answering.DurableEntityClient = SteppedClient
app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")])
