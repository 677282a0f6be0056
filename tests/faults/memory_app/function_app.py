"""An agent that remembers, whose process stands still right after a fact is stored: before the call's result is.

REMEMBERED is the file with a line for each call of the store. It stands still until the file GOES_ON is there.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

import hosting.app
from hosting.service.memories import Memories
from tests.support.rememberer import rememberer

REMEMBERED = Path(os.environ["REMEMBERED"])
GOES_ON = Path(os.environ["GOES_ON"])
remember = Memories.remember


async def held(self: Memories, *arguments: Any) -> Any:
    """Remember, and stand still."""
    fact = await remember(self, *arguments)
    with REMEMBERED.open("a", encoding="utf-8") as file:
        file.write(f"{fact.id}\n")
    while not GOES_ON.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.05)
    return fact


Memories.remember = held  # type: ignore[method-assign]
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[rememberer(shared=True)])
