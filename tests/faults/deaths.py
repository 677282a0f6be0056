"""What an app imports to die before or after something that it does, or to stand still there, as its environment says.

`KILL="after 3"` is the third append to the log, `"before completed 2"` the second with an event of that kind, `"after
archive.put 1"` the first of such calls of a store, `"before signal 1"` a step that was given a name. `SAID` is what a
call must have in it to be counted. `CLOCK_AHEAD` is by how many seconds this process's clock is ahead.
"""

from __future__ import annotations

import os
import time

if ahead := float(os.environ.get("CLOCK_AHEAD", "0")):
    right_time = time.time
    time.time = lambda: right_time() + ahead  # before anything of the app asks for the time

import asyncio
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import hosting.app
import hosting.store_choice
from hosting.functions.durable import DurableClient

SIDE, _, _rest = os.environ.get("KILL", "never 1").partition(" ")
WHAT, _, NTH = _rest.rpartition(" ")
SAID = os.environ.get("SAID", "")
_left = int(NTH or 1)


async def dying(names: set[str], call: Callable[[], Awaitable[Any]], said: str = "") -> Any:
    """Make a call that has these names, unless the process is to die before it; it may die or stand after it."""
    global _left
    is_meant = WHAT in names and SAID in said
    _left -= is_meant
    is_now = is_meant and _left == 0
    if is_now and SIDE == "at":
        await asyncio.Event().wait()
    if is_now and SIDE == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = await call()
    if is_now and SIDE == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def dies_around(owner: Any, method: str, name: str) -> None:
    """Have this process die around a function of a module or a class, where `KILL` has that name."""
    call = getattr(owner, method)

    async def killing(*arguments: Any, **named: Any) -> Any:
        return await dying({name}, lambda: call(*arguments, **named))

    setattr(owner, method, killing)


class KillingStore:
    """A store around whose calls its process may die; what it does otherwise is the real store's."""

    def __init__(self, name: str, store: Any) -> None:
        self._name, self._store = name, store

    def __getattr__(self, verb: str) -> Any:
        call = getattr(self._store, verb)
        if not asyncio.iscoroutinefunction(call):
            return call

        async def killing(*arguments: Any, **named: Any) -> Any:
            said = str(arguments)
            names = {f"{self._name}.{verb}"}
            if names == {"log.append"}:
                names |= {"", WHAT if f'"kind":"{WHAT}"' in said else ""}
            return await dying(names, lambda: call(*arguments, **named), said)

        return killing


def note(what: str) -> None:
    """Tell the outside, in one write."""
    with Path(os.environ["NOTES"]).open("a", encoding="utf-8") as notes:
        notes.write(what + "\n")


def _killing(name: str, choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: KillingStore(name, choose(*arguments))


for store, chosen in (("log", "thread_store"), ("archive", "archive"), ("attachments", "attachments")):
    choice: Any = f"choose_{chosen}"
    setattr(hosting.store_choice, choice, _killing(store, getattr(hosting.store_choice, choice)))
dies_around(DurableClient, "signal", "signal")
real: Any = hosting
real.app.Services = partial(real.app.Services, lease_seconds=1.0, margin_seconds=0.5)
