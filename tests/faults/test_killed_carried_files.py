"""The files of a fork under SIGKILL: a real host killed around each append that brings them, and their erasure."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.support.canary import gone
from tests.support.carriers import GUARD_SECONDS, Api

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

THREADS = "/api/agents/Joker/threads"
CANARY = b"canary-7d2e"
FILES = {"a.txt": CANARY * 3, "b.txt": CANARY * 5}
STORES = {"AGENT_LOG": "sqlite:.agents/log.sqlite"}
POINTS = (2, 3, 4, 6, 8)
"""Of the appends that name the fork: its two uploads, its thread, and what makes files of the uploads."""
HALF_A_DAY = "43200"


async def files_of(api: Api, thread_id: str) -> dict[str, bytes]:
    """Return the files of a thread with their bytes."""
    answer = await api.http.get(f"{THREADS}/{thread_id}/files")
    files = answer.json()["files"] if answer.status_code == 200 else []
    return {file["name"]: (await api.http.get(file["content_url"])).content for file in files}


@pytest.mark.behaviour("uploads.carried")
async def test_a_fork_whose_host_was_killed_has_all_files_or_is_none(tmp_path: Path) -> None:
    """By the same request, or by nobody's but the timer's; then everything is erased, and no word of it is left."""
    folder = killing_stores_app(tmp_path)
    async with running(folder, **STORES) as (_, api):
        await api.ask("hello", thread_id="t")
        for name, content in FILES.items():
            sent = await api.http.post(f"{THREADS}/t/files", params={"name": name}, content=content)
            assert sent.status_code == 201, sent.text
    for nth in POINTS:
        for kind in ("again", "left"):

            async def fork(api: Api, thread_id: str = f"{kind}-{nth}") -> None:
                await api.http.post(f"{THREADS}/t/fork", json={"thread_id": thread_id})

            await killed_by(folder, "before log.append", fork, NTH=str(nth), SAID=f"{kind}-{nth}", **STORES)
    async with running(folder, CLOCK_AHEAD=HALF_A_DAY, **STORES) as (_, api):
        answers = [await api.http.post(f"{THREADS}/t/fork", json={"thread_id": f"again-{nth}"}) for nth in POINTS]
        again = [await files_of(api, f"again-{nth}") for nth in POINTS]
        assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202
        forks = {thread["thread_id"] for thread in (await api.http.get(THREADS)).json()["threads"]}
        begun = [nth for nth in POINTS if f"left-{nth}" in forks]
        async with asyncio.timeout(GUARD_SECONDS):
            while [await files_of(api, f"left-{nth}") for nth in begun] != [FILES] * len(begun):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        none = [await files_of(api, f"left-{nth}") for nth in POINTS if nth not in begun]
        for thread_id in [*forks, *(f"left-{nth}" for nth in POINTS)]:
            await api.http.delete(f"{THREADS}/{thread_id}")
    async with running(folder, CLOCK_AHEAD=str(4 * int(HALF_A_DAY)), **STORES) as (_, api):
        assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202
        await asyncio.wait_for(gone(folder / ".agents", CANARY), GUARD_SECONDS)

    assert [answer.status_code for answer in answers] == [201] * len(POINTS)
    assert again == [FILES] * len(POINTS)
    assert 0 < len(begun) < len(POINTS)
    assert none == [{}] * (len(POINTS) - len(begun))
