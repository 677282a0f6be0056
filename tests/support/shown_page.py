"""An app of one agent with the AG-UI wire, as one page sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.ag_ui import Events, events_of
from tests.support.made_app import MEMORY, app_of, served


class Shown:
    """An app over an agent in one process; `run` sends a request, `thread` and `erase` are our own routes."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def run(self, fields: dict[str, Any]) -> Events:
        reply = await self.http.post("/api/ag-ui/Joker", json=fields)
        assert reply.status_code == 200, reply.text
        return events_of(reply.text)

    async def thread(self) -> str:
        """Return all that our own routes show of the thread."""
        replies = [await self.http.get(f"/api/agents/Joker/threads/t{part}") for part in ("", "/messages", "/runs")]
        return "\n".join(reply.text for reply in replies)


@asynccontextmanager
async def shown_by(agent: Any, environ: dict[str, str] | None = None, **options: Any) -> AsyncIterator[Shown]:
    app = app_of(wires=["ag-ui"], environ=environ or MEMORY)
    app.add_agent(agent, **options)
    async with served(app) as (_, http):
        yield Shown(http)


def contents_of(folder: Path) -> str:
    """Return what stands in the files of a folder."""
    return "".join(path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file())
