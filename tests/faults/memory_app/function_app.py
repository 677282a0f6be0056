"""An agent that remembers, whose process stands still once a fact is stored or gone: before the result of the call is.

REMEMBERED is the file with a line for each call of the store. It stands still until the file GOES_ON is there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import hosting.app
from hosting.features.memory.facts import Memories
from hosting.features.memory.provider import Fact
from tests.support.rememberer import rememberer

REMEMBERED = Path(os.environ["REMEMBERED"])
GOES_ON = Path(os.environ["GOES_ON"])


def held(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a call of the store, behind which its process stands still."""

    async def stands_still(*arguments: Any) -> Any:
        done = await call(*arguments)
        with REMEMBERED.open("a", encoding="utf-8") as file:
            file.write(f"{call.__name__} {done.id if isinstance(done, Fact) else done}\n")
        while not GOES_ON.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        return done

    return stands_still


Memories.remember = held(Memories.remember)  # type: ignore[method-assign]
Memories.forget = held(Memories.forget)  # type: ignore[method-assign]
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[rememberer(shared=True)])
