"""An app whose process dies before or after a call of one of its stores, by itself, or stops at it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx

from tests.faults.app_process import until_dead
from tests.support.app_folder import make_app
from tests.support.carriers import APP, Api, socket_api
from tests.support.running_host import RunningHost

HOST = json.loads((APP / "host.json").read_text(encoding="utf-8"))
SOURCE = '''
import asyncio, os, signal, time
from functools import partial

if ahead := float(os.environ.get("CLOCK_AHEAD", "0")):
    right_time = time.time
    time.time = lambda: right_time() + ahead  # before anything of the app asks for the time

import hosting.app
from tests.support.app.scripted import scripted_agent


class KillingStore:
    """A store whose process dies before or after one of its calls, or stops at it: the NTH that has SAID in it."""

    left = int(os.environ.get("NTH", "1"))

    def __init__(self, name, store):
        self._name, self._store = name, store

    def __getattr__(self, verb):
        call, name = getattr(self._store, verb), f"{self._name}.{verb}"
        if not asyncio.iscoroutinefunction(call):
            return call

        async def killing(*arguments, **named):
            side, _, meant = os.environ.get("KILL", "").partition(" ")
            KillingStore.left -= meant == name and os.environ.get("SAID", "") in str(arguments)
            if (side, meant, self.left) == ("at", name, 0):
                await asyncio.Event().wait()
            if (side, meant, self.left) == ("before", name, 0):
                os.kill(os.getpid(), signal.SIGKILL)
            result = await call(*arguments, **named)
            if (side, meant, self.left) == ("after", name, 0):
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return killing


def killing(name, choose):
    return lambda *arguments: KillingStore(name, choose(*arguments))


hosting.store_choice.choose_thread_store = killing("log", hosting.store_choice.choose_thread_store)
hosting.store_choice.choose_archive = killing("archive", hosting.store_choice.choose_archive)
hosting.store_choice.choose_attachments = killing("attachments", hosting.store_choice.choose_attachments)
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
engine = None
if endpoint := os.environ.get("AI_SEARCH"):
    from samples.ai_search.ai_search import AiSearch

    engine = KillingStore("engine", AiSearch(endpoint, key="the-key"))
app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")], wires=["responses", "ag-ui"], search=engine)
'''


def killing_stores_app(folder: Path, more: str = "") -> Path:
    """Return a folder of the app, with more code in it."""
    (folder / "app").mkdir()
    return make_app(folder / "app", SOURCE + more, host=HOST)


@contextlib.asynccontextmanager
async def running(folder: Path, **environ: str) -> AsyncIterator[tuple[RunningHost, Api]]:
    """Run a host of the app: it, and how to reach it. `KILL`, `NTH` and `SAID` say at which call it dies."""
    with RunningHost(folder, environ={"AGENT_RECENT_BYTES": "2048", **environ}) as host:
        api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
        async with api.http:
            yield host, api


async def killed_by(folder: Path, point: str, send: Callable[[Api], object], **environ: str) -> None:
    """Send to a host that dies of it."""
    async with running(folder, KILL=point, **environ) as (host, api):
        with contextlib.suppress(httpx.TransportError):
            await send(api)  # type: ignore[misc]
        assert await until_dead(host) != 0
