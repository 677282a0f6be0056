"""What an app imports to kill itself before or after one step of its work.

KILL_AT names the step, as `before append` or `after append 2`: the n-th `append` to the log, the `signal` of an entity,
or a step that the app has by itself.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Awaitable
from functools import partial
from typing import Any, TypeVar

import hosting.app
import hosting.functions.durable
import hosting.store_choice
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
        """Append, as one step."""
        return await stepped("append", self._store.append(*arguments, **named))


class SteppedClient(DurableClient, frozen=True):
    """The real client, its signal counted."""

    async def signal(self, *arguments: Any) -> None:
        """Signal, as one step."""
        await stepped("signal", super().signal(*arguments))


real: Any = hosting
choose = real.store_choice.choose_thread_store
real.store_choice.choose_thread_store = lambda *arguments: SteppedStore(choose(*arguments))
real.functions.durable.DurableClient = SteppedClient
real.app.Services = partial(real.app.Services, lease_seconds=1.0, margin_seconds=0.5)
