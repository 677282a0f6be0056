"""Erasure and attachments under SIGKILL: a real host killed around each thing that it does to a store."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.faults.app_process import until_dead
from tests.support.app_folder import make_app
from tests.support.canary import gone, holds
from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

HOST = json.loads((APP / "host.json").read_text(encoding="utf-8"))
CANARY = b"canary-77aa"
PICTURE = CANARY * 3000
HASH = hashlib.sha256(PICTURE).hexdigest()
THREAD = "/api/agents/Joker/threads/t"
BODY = {
    "message": CANARY.decode(),
    "thread_id": "t",
    "contents": [
        {
            "$type": "data",
            "uri": f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}",
            "mediaType": "image/png",
        }
    ],
}
ERASING = ["log.append", "archive.erase", "attachments.erase", "log.erase"]
SOURCE = '''
import os, signal

import hosting.app
from tests.support.app.scripted import scripted_agent


class KillingStore:
    """A store whose process dies before or after one of its calls; what it does otherwise is the real store's."""

    def __init__(self, name, store):
        self._name, self._store = name, store

    def __getattr__(self, verb):
        call, name = getattr(self._store, verb), f"{self._name}.{verb}"

        async def killing(*arguments, **named):
            if os.environ.get("KILL") == f"before {name}":
                os.kill(os.getpid(), signal.SIGKILL)
            result = await call(*arguments, **named)
            if os.environ.get("KILL") == f"after {name}":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return killing


def killing(name, choose):
    return lambda *arguments: KillingStore(name, choose(*arguments))


hosting.stores.choice.choose_thread_store = killing("log", hosting.stores.choice.choose_thread_store)
hosting.stores.choice.choose_archive = killing("archive", hosting.stores.choice.choose_archive)
hosting.stores.choice.choose_attachments = killing("attachments", hosting.stores.choice.choose_attachments)
app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")])
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app, its stores in files."""
    (tmp_path / "app").mkdir()
    return make_app(tmp_path / "app", SOURCE, host=HOST)


@contextlib.asynccontextmanager
async def running(folder: Path, **environ: str):  # type: ignore[no-untyped-def]
    """A host of the app and how to reach it."""
    with RunningHost(folder, environ={"AGENT_RECENT_BYTES": "2048", **environ}) as host:
        api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
        async with api.http:
            yield host, api


async def killed_by(folder: Path, point: str, send: Callable[[Api], object]) -> None:
    """Send to a host that dies of it."""
    async with running(folder, KILL=point) as (host, api):
        with contextlib.suppress(httpx.TransportError):
            await send(api)  # type: ignore[misc]
        assert await until_dead(host) != 0


@pytest.mark.behaviour("erasure.attachments")
@pytest.mark.parametrize("point", ["before attachments.put", "after attachments.put"])
async def test_a_host_killed_around_the_keeping_of_a_picture_loses_neither_it_nor_the_run(
    folder: Path, point: str
) -> None:
    """The run goes on when its signal is delivered again, and the document refers to bytes that are there."""
    await killed_by(folder, point, lambda api: api.http.post("/api/agents/Joker/run", json=BODY))

    async with running(folder) as (_, api):
        entries = await api.entries("t")
        exported = (await api.http.get(f"{THREAD}/export")).json()

    kept = {"sha256": HASH, "bytes": len(PICTURE), "mediaType": "image/png"}
    assert entries[0]["messages"][0]["contents"][1]["attachment"] == kept
    assert [kept["sha256"] for kept in exported["attachments"]] == [HASH]
    assert base64.b64decode(exported["attachments"][0]["base64"]) == PICTURE


@pytest.mark.behaviour("erasure.nothing-is-left")
@pytest.mark.parametrize("point", [f"{side} {call}" for call in ERASING for side in ("before", "after")])
async def test_a_host_killed_in_the_middle_of_an_erasure_leaves_nothing_but_the_receipt(
    folder: Path, point: str
) -> None:
    """What was begun is done by the next delivery, or by whoever deletes again; the receipt tells the whole of it."""
    async with running(folder) as (_, api):
        await api.http.post("/api/agents/Joker/run", json=BODY)
        for number in range(6):
            await api.ask(f"{CANARY.decode()} {number} {'x' * 400}", thread_id="t")
        assert holds(folder, CANARY)
    await killed_by(folder, point, lambda api: api.http.delete(THREAD))

    async with running(folder) as (_, api):
        assert (await api.http.delete(THREAD)).status_code == 204
        await asyncio.wait_for(gone(folder, CANARY), GUARD_SECONDS)
        receipt = (await api.http.get(f"{THREAD}/erasure")).json()

    assert (receipt["runs"], receipt["attachments"]) == (7, [HASH])
    assert receipt["archived_entries"] > 0
    assert receipt["instances"] == [{"id": "@dafx-joker@t", "outcome": "deleted"}]
