"""The reader that streaming.md shows, in a headless Chromium, against a worker that is starting again."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from tests.support.broken_stream import EVENTS, BrokenStream
from tests.support.browsing import needs_browser, opened
from tests.support.running_host import ROOT, START_GUARD_SECONDS

DOCS = ROOT / "docs"
READER = re.compile(r"```js\n(async function\* follow.*?)^for await", re.DOTALL | re.MULTILINE)

pytestmark = [
    pytest.mark.slow,
    needs_browser,
]


async def evaluated(server: BrokenStream, script: str) -> object:
    """What the script comes to on a page of the server's."""
    async with opened(f"{server.origin}/event-source.html") as page:
        return await asyncio.wait_for(page.evaluate(script), START_GUARD_SECONDS)


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


@pytest.mark.behaviour("streams.starting-again")
async def test_the_page_of_docs_makes_a_new_event_source_behind_that_500() -> None:
    script = f"""new Promise(done => {{
        follow({json.dumps(EVENTS + "?")}, 0, 60)
        setInterval(() => status.textContent === "completed" && done(answer.textContent), 20)
    }})""".replace("status.", "document.getElementById('status').")

    with BrokenStream(DOCS) as server:
        shown = await evaluated(server, script)

    assert shown == "one two three"
    assert server.followed_behind == ["0", "2", "2"]
