"""Processes that are killed while files are made ready for search, while one is deleted, and two at once."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.running_host import ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
WORD = "quetzalcoatlus"


def text_of(name: str) -> str:
    """Return a text of some batches of chunks."""
    return "\n\n".join(f"{name}{number} paragraph about {WORD}{number} and nothing else." for number in range(1800))


class Shelf:
    """The running app, and what its client of embeddings was asked."""

    def __init__(self, folder: Path, app: GroupedApp, http: httpx.AsyncClient) -> None:
        self.folder, self.app, self.http = folder, app, http
        self.asked, self.holds, self.stands = folder / "asked.txt", folder / "holds", folder / "holds.stands"

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Return once another process has come so far."""
        async with asyncio.timeout(GUARD_SECONDS):
            while not is_so():  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)

    async def upload(self, name: str, text: str, origin: str = "") -> str:
        """Store a file and return its URL."""
        answer = await self.http.post(f"{origin}/api/files", params={"name": name}, content=text.encode())
        assert answer.status_code == 201, answer.text
        return f"/api/files/{answer.json()['file_id']}"

    async def index(self, url: str) -> dict[str, Any]:
        """Return how far the search is with a file."""
        return dict((await self.http.get(url)).json().get("index", {}))

    async def ready(self, url: str) -> dict[str, Any]:
        """Return the same, once it is ready."""
        async with asyncio.timeout(GUARD_SECONDS):
            while (index := await self.index(url)).get("status") != "ready":
                assert index.get("status") != "failed", index
                await asyncio.sleep(0.1)
        return index

    def lines(self) -> list[str]:
        """Return the calls of the client so far."""
        return self.asked.read_text("utf-8").splitlines() if self.asked.exists() else []

    async def killed(self) -> list[str]:
        """Kill the process that works, once a call of the client stands still, and return the calls so far."""
        await self.until(self.stands.exists)
        self.app.durable.kill()
        self.stands.unlink()
        self.holds.unlink()
        return self.lines()

    def has(self, word: str) -> list[str]:
        """Return the files of the stores that have a word as it is."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and path != self.asked]
        return [path.name for path in files if word.encode() in path.read_bytes()]


@pytest.mark.behaviour("file-search.once")
@pytest.mark.behaviour("file-search.erased")
async def test_killed_processes_make_files_ready_once_and_leave_nothing_of_a_deleted_one(tmp_path: Path) -> None:
    """The batch that was on its way is embedded again, and no other one; two processes take files at once."""
    shutil.copy(Path(__file__).parent / "library_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    environ = {
        "AGENT_LOG": f"sqlite:{tmp_path / '.agents' / 'log.sqlite'}",
        "ASKED": str(tmp_path / "asked.txt"),
        "HOLDS": str(tmp_path / "holds"),
    }
    with grouped_app(tmp_path, log=environ) as app:
        one, two = app.http
        async with httpx.AsyncClient(base_url=app.origin, timeout=GUARD_SECONDS) as http:
            shelf = Shelf(tmp_path, app, http)

            shelf.holds.write_text("1")
            first = await shelf.upload("first.txt", text_of("first"))
            await shelf.killed()  # behind the first answer, before its record
            app.durable.start()
            index = await shelf.ready(first)
            begun = shelf.lines()

            shelf.asked.write_text("")
            shelf.holds.write_text("2")
            second = await shelf.upload("second.txt", text_of("second"))
            before = await shelf.killed()
            app.durable.start()
            await shelf.ready(second)
            went_on, there = shelf.lines(), shelf.has("second1 paragraph")

            shelf.asked.write_text("")
            shelf.holds.write_text("1")
            third = await shelf.upload("third.txt", text_of("third"))
            await shelf.until(shelf.stands.exists)
            deleted = await http.delete(third)
            await shelf.killed()
            app.durable.start()

            shelf.asked.write_text("")
            uploads = (
                shelf.upload(f"many{number}.txt", f"Only here stands albatross{number}.", host.origin)
                for number, host in enumerate((one, two) * 4)
            )
            for url in await asyncio.gather(*uploads):
                await shelf.ready(url)
            question = {"message": "search albatross5", "thread_id": "t"}
            answer = (await http.post("/api/agents/Librarian/run", json=question)).json()

            for file in (await http.get("/api/files")).json()["files"]:
                receipt = await http.delete(f"/api/files/{file['file_id']}")
                assert receipt.status_code == 200, receipt.text
            await http.delete("/api/agents/Librarian/threads/t")
            left = shelf.has(WORD), shelf.has("third1 paragraph"), shelf.has("albatross5")

    assert index["chunks"] == index["embedded"] > 128
    assert (begun[0], len(begun)) == (begun[1], len(set(begun)) + 1)
    assert len(before) == 2
    assert sorted(went_on) == sorted([*set(went_on), before[-1]])
    assert deleted.json()["files"] == 1
    assert answer["citations"][0]["name"] == "many5.txt"
    assert there
    assert left == ([], [], [])
