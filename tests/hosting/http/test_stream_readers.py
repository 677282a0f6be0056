"""Readers of a stream: slow ones and gone ones over real sockets, and those of a page in a headless Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.server
import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page

from benchmarks.app_folder import MEASURED, copied
from tests.support.broken_stream import EVENTS, BrokenStream
from tests.support.browsing import needs_browser, opened
from tests.support.carriers import APP
from tests.support.event_stream import parse, words
from tests.support.running_host import ROOT, START_GUARD_SECONDS, RunningHost

SLOW_READERS = 100
GUARD_SECONDS = 40.0
TEXT = "\n".join(f"{number}:{'long' * 50}" for number in range(2000))
SMALL_BUFFERS = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)]


@pytest.mark.slow
@pytest.mark.behaviour("streams.slow-readers")
async def test_slow_readers_delay_neither_a_fast_one_nor_the_run(tmp_path: Path) -> None:
    """They take nothing of what fills their connections until the run has ended; then they get all of it.

    A reader that began while the model answered got its deltas one by one, a later one in the pieces of the log.
    """
    environ = {"AGENT_STATE_LIMIT_BYTES": "4000000"}
    with RunningHost(shutil.copytree(APP, tmp_path / "app"), environ=environ) as host:
        transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None), socket_options=SMALL_BUFFERS)
        async with contextlib.AsyncExitStack() as stack:
            fast = await stack.enter_async_context(httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS))
            slow = await stack.enter_async_context(httpx.AsyncClient(timeout=GUARD_SECONDS, transport=transport))
            body = {"message": f"say {TEXT}", "stream": True, "wait_for_response": False, "thread_id": "t"}
            location = (await fast.post("/api/agents/Joker/run", json=body)).headers["location"]
            readers = [
                await stack.enter_async_context(slow.stream("GET", f"{location}/events")) for _ in range(SLOW_READERS)
            ]
            whole = await asyncio.wait_for(fast.get(f"{location}/events"), GUARD_SECONDS)
            ended = await fast.get(location)
            late = await asyncio.wait_for(asyncio.gather(*(each.aread() for each in readers)), GUARD_SECONDS)

    assert (ended.status_code, ended.json()["status"]) == (200, "success")
    assert words(parse(whole.text)) == TEXT
    assert [words(parse(each.decode())) for each in late] == [TEXT] * SLOW_READERS
    assert [parse(each.decode())[-1] for each in late] == [parse(whole.text)[-1]] * SLOW_READERS


@pytest.mark.slow
async def test_readers_that_went_away_leave_the_run_alone(tmp_path: Path) -> None:
    """The one who asked for it, too: it is executed once and to its end."""
    environ = {"SCRIPT_LOG": str(tmp_path / "requests.txt")}
    with RunningHost(shutil.copytree(APP, tmp_path / "app"), environ=environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            events = {"accept": "text/event-stream"}
            async with http.stream(
                "POST", "/api/agents/Joker/run?thread_id=t", content="sleep 0.5", headers=events
            ) as got:
                run = got.headers["content-location"]
            frames = parse((await asyncio.wait_for(http.get(run), GUARD_SECONDS)).text)

    assert [frames[-1].event, words(frames)] == ["completed", "echo: sleep 0.5"]
    assert len((tmp_path / "requests.txt").read_text(encoding="utf-8").splitlines()) == 1


KEYS = {"master": "m", "host": "a key of the page", "functions": {}, "system": {}}


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Where the page is served, which is not where the app is."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(ROOT / "docs"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def folder(origin: str, tmp_path: Path) -> Path:
    """An app that lets the page's origin in and asks for a key."""
    with copied(MEASURED) as measured:
        folder = Path(shutil.copytree(measured, tmp_path / "app"))
    (folder / ".devhost").mkdir(exist_ok=True)
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS))
    settings = {"Host": {"CORS": origin}, "Values": {"PYTHONPATH": str(ROOT)}}
    (folder / "local.settings.json").write_text(json.dumps(settings))
    return folder


async def ask(page: Page, host: RunningHost, message: str, key: str = KEYS["host"]) -> None:  # type: ignore[assignment]
    fields = {"app": host.origin, "agent": "timed", "key": key, "message": message}
    filled = " ".join(f"form.{name}.value = {json.dumps(value)};" for name, value in fields.items())
    await page.evaluate(f"{filled} form.requestSubmit();")


async def until_status(page: Page, beginning: str) -> str:
    """Return the answer that the page shows once its status begins so."""
    wait = f"""new Promise(done => setInterval(() => {{
        if (status.textContent.startsWith({json.dumps(beginning)})) done(answer.textContent);
    }}, 20))""".replace("status.", "document.getElementById('status').")
    return str(await asyncio.wait_for(page.evaluate(wait), GUARD_SECONDS))


@pytest.mark.slow
@needs_browser
@pytest.mark.behaviour("streams.browser")
async def test_the_page_goes_on_by_itself_after_the_host_was_killed(origin: str, folder: Path) -> None:
    """The browser comes back with the last id that it has seen, and ends with the whole answer."""
    with RunningHost(folder, "--port", "0", "--auth") as host:
        async with opened(f"{origin}/event-source.html") as page:
            await ask(page, host, "speak 60 30")
            await until_words(page)
            host.process.kill()
            await until_status(page, "coming back")
            with RunningHost(folder, "--port", host.origin.rpartition(":")[2], "--auth"):
                whole = await until_status(page, "completed")

    assert len(whole.split()) == 60


async def until_words(page: Page) -> str:
    """Return what the page shows once that is something."""
    wait = """new Promise(done => setInterval(() => {
        const shown = document.getElementById('answer').textContent;
        if (shown.split(' ').length > 5) done(shown);
    }, 20))"""
    return str(await asyncio.wait_for(page.evaluate(wait), GUARD_SECONDS))


DOCS = ROOT / "docs"
READER = re.compile(r"```js\n(async function\* follow.*?)^for await", re.DOTALL | re.MULTILINE)


async def evaluated(server: BrokenStream, script: str) -> object:
    """What the script comes to on a page of the server's."""
    async with opened(f"{server.origin}/event-source.html") as page:
        return await asyncio.wait_for(page.evaluate(script), START_GUARD_SECONDS)


@pytest.mark.slow
@needs_browser
@pytest.mark.behaviour("streams.starting-again")
async def test_the_page_s_reader_goes_on_behind_a_500_of_a_worker_that_starts_again() -> None:
    """Each event comes once, over three connections, and it ends with the run."""
    (reader,) = READER.findall((DOCS / "reference" / "streaming.md").read_text(encoding="utf-8"))
    script = f"""(async () => {{
        {reader}
        const seen = []
        for await (const {{ event, data }} of follow({json.dumps(EVENTS)})) seen.push([event, data.text ?? ""])
        return seen
    }})()"""

    with BrokenStream(DOCS) as server:
        seen = await evaluated(server, script)

    words = [["delta", "one "], ["delta", "two "], ["delta", "three"]]
    assert seen == [["accepted", ""], *words, ["completed", ""]]
    assert server.followed_behind == ["", "2", "2"]
