"""A headless Chromium, driven through its own protocol: one page at a time."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
START_SECONDS = 30.0
_LISTENING = re.compile(rb"DevTools listening on ws://([^/]+)/")
_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0")


def find_browser() -> str | None:
    """Return the command of a Chromium, or None where there is none; CHROMIUM names one that is not on the PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class PageGoneError(Exception):
    """The page was left for another while it was evaluated."""


class Page:
    """An open page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
        self._socket = socket

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, of a promise once it is kept."""
        order = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        await self._socket.send_json({"id": 1, "method": "Runtime.evaluate", "params": order})
        async for message in self._socket:
            reply = message.json()
            if reply.get("id") == 1:
                if "error" in reply:
                    raise PageGoneError(reply["error"])
                assert "exceptionDetails" not in reply["result"], reply["result"]["exceptionDetails"]
                return reply["result"]["result"].get("value")
        raise AssertionError("the browser went away")

    async def until_at(self, url: str) -> None:
        """Return once the page of that address is loaded; a browser begins with an empty one."""
        is_there = f"location.href === {json.dumps(url)} && document.readyState === 'complete'"
        while True:
            with suppress(PageGoneError):
                if await self.evaluate(is_there):
                    return
            await asyncio.sleep(0.05)


@asynccontextmanager
async def opened(command: str, url: str, profile: Path) -> AsyncIterator[Page]:
    """Yield the page at `url`, loaded; the browser ends with the block and leaves nothing but its profile."""
    # Its socket lies among its temporary files, and the path of a socket is short.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        homes = {"HOME": str(profile), "TMPDIR": temporary}
        arguments = (*_OPTIONS, f"--user-data-dir={profile}", url)
        async with (
            _started(command, *arguments, environ=homes) as process,
            aiohttp.ClientSession() as session,
            session.ws_connect(await _page_at(url, session, await _address(process))) as socket,
        ):
            page = Page(socket)
            await asyncio.wait_for(page.until_at(url), START_SECONDS)
            yield page


@asynccontextmanager
async def _started(
    command: str, *arguments: str, environ: Mapping[str, str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        command, *arguments, env={**os.environ, **environ}, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    while line := await asyncio.wait_for(process.stderr.readline(), START_SECONDS):
        if found := _LISTENING.search(line):
            return found[1].decode()
    raise AssertionError("the browser ended before it listened")


async def _page_at(url: str, session: aiohttp.ClientSession, address: str) -> str:
    while True:
        async with session.get(f"http://{address}/json/list") as answer:
            pages = [target for target in await answer.json() if target["url"] == url]
        if pages:
            return str(pages[0]["webSocketDebuggerUrl"])
        await asyncio.sleep(0.05)
