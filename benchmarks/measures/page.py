"""The page in a browser: when it is painted after its server is ready, and when a word that came is on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.app_folder import MEASURED, copied
from benchmarks.figures import NotMeasuredError, Result, milliseconds
from benchmarks.host_process import HostProcess, hosted
from benchmarks.samples import median, percentile
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from benchmarks.warm_up import warm_host
from tests.support.browser import find_browser

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

WORDS = 50
WORDS_PER_SECOND = 50
MESSAGE = "#message"
PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") done(entry.startTime)
}).observe({ type: "paint", buffered: true }))"""
NOTE_WORDS = """
    const came = []
    window.wordDelays = []
    const read = ReadableStreamDefaultReader.prototype.read
    ReadableStreamDefaultReader.prototype.read = async function () {
        const piece = await read.call(this)
        if (typeof piece.value === "string")
            for (const [, data] of piece.value.matchAll(/^event: delta\\ndata: (.*)$/gm))
                for (const word of JSON.parse(data).text.match(/\\S+/g) ?? []) came.push(performance.now())
        return piece
    }
    const shown = () => document.querySelector(".turn:last-child .markdown")?.textContent.match(/\\S+/g)?.length ?? 0
    new MutationObserver(() => {
        // A message comes in a task of its own: behind the painting of the frame in which the page changed.
        const painted = new MessageChannel()
        painted.port1.onmessage = () => {
            for (const now = performance.now(); wordDelays.length < Math.min(shown(), came.length); )
                wordDelays.push(now - came[wordDelays.length])
        }
        painted.port2.postMessage(null)
    }).observe(document, { childList: true, subtree: true, characterData: true })
"""
"""Notes when each word of a stream came to the page's own reader, and how long after that it was painted, in ms."""


async def measure(sizes: Sizes) -> Result:
    """Each first paint is of a browser that has nothing of the page yet and a host that has just begun to serve.

    Raises NotMeasuredError where there is no Chromium, or nothing that drives it.
    """
    async with a_browser() as browser:
        painted = [await first_paint_of(browser) for _ in range(sizes.starts)]
        async with warm_host(sizes) as host:
            streams = [await word_delays(browser, host.process) for _ in range(sizes.read_streams)]
    words = [delay for delays in streams for delay in delays]
    figures = (
        milliseconds("first paint, p50", median(painted)),
        milliseconds("first paint, slowest", max(painted)),
        milliseconds("word on the screen, p50", median(words)),
        milliseconds("word on the screen, p99", percentile(words, 99)),
    )
    return Result(figures, host.empty_route_seconds)


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """Yield a headless Chromium."""
    try:
        from playwright.async_api import async_playwright
    except ImportError as error:
        raise NotMeasuredError("Playwright is not installed: it is in requirements-dev.txt.") from error
    command = find_browser()
    if command is None:
        raise NotMeasuredError("There is no Chromium: install one, or name its command by CHROMIUM.")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        yield browser
        await browser.close()


@asynccontextmanager
async def opened(browser: Browser, host: HostProcess, script: str = "") -> AsyncIterator[Page]:
    """Yield the page of the agent `timed` in a profile of its own, as soon as its files are there."""
    context = await browser.new_context()
    page = await context.new_page()
    await page.add_init_script(script)
    await page.goto(f"http://127.0.0.1:{host.port}/api/ui/#/timed")
    yield page
    await context.close()


async def first_paint_of(browser: Browser) -> float:
    """Return the seconds from the request for the page to its first paint, on a host that serves since just now."""
    with copied(MEASURED) as folder:
        async with hosted(folder) as host, opened(browser, host) as page:
            return float(await page.evaluate(PAINTED)) / 1000


async def word_delays(browser: Browser, host: HostProcess) -> Sequence[float]:
    """Return for each word of one stream the seconds from its frame to the screen."""
    async with opened(browser, host, NOTE_WORDS) as page:
        await page.fill(MESSAGE, f"speak {WORDS} {WORDS_PER_SECOND}")
        await page.press(MESSAGE, "Enter")
        await page.wait_for_selector(".turn[data-end=completed]")
        delays = [float(delay) / 1000 for delay in await page.evaluate("wordDelays")]
    if len(delays) != WORDS:
        raise WrongAnswerError(f"A stream of {WORDS} words had {len(delays)} on the page.")
    return delays
