"""The scripted agent in a process that kills itself before or after one step of its first turn.

KILL_AT names the step, as `before append` or `after append 2`: the n-th `append` to the log, or the `signal` of the
entity.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Awaitable
from functools import partial
from typing import Any, TypeVar

from scripted import scripted_agent

import hosting.app
import hosting.functions.durable
from hosting.functions.durable import DurableClient

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
    """The real store, its appends counted."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, *arguments: Any, **named: Any) -> Any:
        return await stepped("append", self._store.append(*arguments, **named))


class SteppedClient(DurableClient):
    """The real client, its signal counted."""

    async def signal(self, *arguments: Any) -> None:
        await stepped("signal", super().signal(*arguments))


choose = hosting.store_choice.choose_thread_store
hosting.store_choice.choose_thread_store = lambda *arguments: SteppedStore(choose(*arguments))
hosting.functions.durable.DurableClient = SteppedClient
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")])
