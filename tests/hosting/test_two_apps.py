"""Two apps that keep everything in the same files: neither sees, answers from or deletes what is the other's."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import served

HUB = "AzureFunctionsJobHost__extensions__durableTask__hubName"
PICTURE = f"data:image/png;base64,{base64.b64encode(bytes(range(256)) * 80).decode()}"
THREAD = "/api/agents/Joker/threads/t"


@pytest.fixture
async def apps(tmp_path: Path) -> AsyncIterator[list[tuple[DirectHost, httpx.AsyncClient]]]:
    """Two apps of one agent and one set of files, whose task hubs have different names."""
    files = {
        "AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}",
        "AGENT_ARCHIVE": f"sqlite:{tmp_path / 'archive.sqlite'}",
        "AGENT_ATTACHMENTS": f"sqlite:{tmp_path / 'attachments.sqlite'}",
        "AGENT_RECENT_BYTES": "2048",
    }
    async with AsyncExitStack() as stack:
        made = [
            AgentFunctionApp(agents=[scripted_agent("Joker")], environ={**files, HUB: hub}) for hub in ("one", "two")
        ]
        yield [await stack.enter_async_context(served(app)) for app in made]


@pytest.mark.behaviour("hosting.hubs")
async def test_two_apps_on_one_store_share_nothing(apps: list[tuple[DirectHost, httpx.AsyncClient]]) -> None:
    """The same thread, key, archived entries and picture in both; deleted in one, they stay in the other."""
    contents = [{"$type": "data", "uri": PICTURE, "mediaType": "image/png"}]
    body = {"message": "see", "thread_id": "t", "contents": contents}
    for host, http in apps:
        first = await http.post("/api/agents/Joker/run", json=body, headers={"idempotency-key": "k"})
        assert "idempotency-replayed" not in first.headers
        for number in range(6):
            await http.post("/api/agents/Joker/run", json={"message": f"m{number}".ljust(200), "thread_id": "t"})
        await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
    (one, here), (_, there) = apps
    before = (await there.get(f"{THREAD}/export")).json()

    assert (await here.delete(THREAD)).status_code == 204
    await asyncio.wait_for(one.entities.idle(), GUARD_SECONDS)
    after = (await there.get(f"{THREAD}/export")).json()

    assert len(before["attachments"]) == 1
    assert len(before["conversation"]["data"]["conversationHistory"]) == 14
    assert {**after, "exported_at": ""} == {**before, "exported_at": ""}
    assert (await here.get(THREAD)).status_code == 404
