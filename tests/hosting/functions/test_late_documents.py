"""Reads of a thread right after its answer, while the engine has not delivered the entity's signal yet."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.owned_app import RUN, THREADS, OwnedApp

BODY = bytes(range(256)) * 100
PICTURE = {"$type": "data", "uri": "data:image/png;base64," + base64.b64encode(BODY).decode()}


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app, whose threads live for a day and archive what is older than a few turns."""
    app = OwnedApp(AGENT_RECENT_BYTES="2048", AGENT_THREAD_TTL_SECONDS="86400")
    async with app.http:
        yield app


async def read(owned: OwnedApp, path: str) -> dict[str, Any]:
    """Return what Ada reads there, but for the time of an export."""
    body = dict((await owned.ask("ada", "GET", path)).json())
    body.pop("exported_at", None)
    for thread in body.get("threads", ()):
        thread.pop("exported_at", None)
    return body


async def deliver(owned: OwnedApp) -> None:
    """Have the engine deliver what it holds back."""
    owned.host.entities.gate.set()
    await owned.host.entities.idle()


async def answered(owned: OwnedApp, turns: int) -> None:
    """Have Ada send a picture with each of these messages, and the engine deliver no signal of the last one."""
    for number in range(turns):
        if number == turns - 1:
            await deliver(owned)
            owned.host.entities.gate.clear()
        message = {"message": f"message {number} " + "long " * 60, "thread_id": "t", "contents": [PICTURE]}
        assert (await owned.ask("ada", "POST", RUN, json=message)).status_code == 200


@pytest.mark.parametrize("path", [f"{THREADS}/t/export", "/api/owners/me/export", f"{THREADS}/t"])
@pytest.mark.parametrize("turns", [1, 6])
@pytest.mark.behaviour("http.exports-threads", "http.reads-threads")
async def test_a_thread_reads_before_its_document_is_stored_as_it_does_afterwards(
    owned: OwnedApp, path: str, turns: int
) -> None:
    """Its conversation, pictures, size and end, whether it has an older document or none, and an archive or none."""
    await answered(owned, turns)

    early = await read(owned, path)
    await deliver(owned)

    assert early == await read(owned, path)
    assert "code" not in early
