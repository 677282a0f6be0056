"""What is stored or said to run on the page and does not, and what a page of another origin tries with it."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import (
    ELSEWHERE,
    HOSTILE,
    IN_A_BROWSER,
    REFUSED,
    UNWANTED,
    ask,
    browsed,
    ended,
    profile,
)
from tests.support.running_host import RunningHost

MARKUP = (
    "<script>hacked()</script>",
    "<img src=x onerror=hacked()>",
    "<svg onload=hacked()><animate onbegin=hacked() attributeName=x dur=1s></svg>",
    "<iframe srcdoc='<script>parent.hacked()</script>'></iframe>",
    "<a href='javascript:hacked()'>one</a>",
    "<style>*{background:url(https://elsewhere.example/a)}</style>",
    "<math><mtext><table><mglyph><style><img src=x onerror=hacked()></style></mglyph></table></mtext></math>",
)
MARKDOWN = (
    "[two](javascript:hacked())",
    "[three](JaVaScRiPt&colon;hacked())",
    "[four](data:text/html;base64,PHNjcmlwdD5oYWNrZWQoKTwvc2NyaXB0Pg==)",
    "[five](vbscript:hacked())",
    "[six](//elsewhere.example/b)",
    "[seven](/api/health)",
    '[eight](https://elsewhere.example/"onmouseover=hacked())',
    "![nine](https://elsewhere.example/c.png)",
    "![ten](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9aGFja2VkKCk+)",
    "<javascript:hacked()>",
    '```"onload=hacked()\n</code><script>hacked()</script>\n```',
    "| <img src=x onerror=hacked()> | b |\n|---|---|\n| [c](javascript:hacked()) | d |",
)
LINKS = "[...document.querySelectorAll('.markdown a')].map(link => [link.href, link.rel])"
GROWN = """async texts => {
    const script = document.querySelector("link[rel=modulepreload][href$='/markdown.js']")
    const { show } = await import(script.href)
    for (const text of texts) {
        const answer = document.createElement("div")
        answer.className = "markdown"
        document.querySelector(".turns").append(answer)
        for (let end = 1; end <= text.length; end++) show(answer, text.slice(0, end))
    }
}"""
"""Each text by itself, as an answer that comes one letter at a time."""
TRIES = """
<iframe name=framed src="{page}" width=400 height=300></iframe>
<iframe name=posted></iframe>
<form id=form method=post enctype=text/plain target=posted action="{run}"><input name="a" value="b"></form>
<script>
  const told = {{}}
  const attempt = (name, work) => work().then((answer) => (told[name] = answer), (error) => (told[name] = error.name))
  form.submit()
  window.all = Promise.all([
    attempt("write", () => fetch("{run}", {{ method: "POST", mode: "no-cors", body: "forged" }})),
    attempt("read", () => fetch("{agents}").then((answer) => answer.text())),
    attempt("script", () => import("{script}").then(() => "loaded")),
  ]).then(() => told)
</script>
"""

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.hostile")]


async def test_nothing_that_is_said_or_stored_becomes_more_than_text(host: RunningHost) -> None:
    """Asked, answered, streamed and read again: no element, no listener, no link but to the web, no request."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        for number, texts in enumerate((MARKUP, MARKDOWN), 1):
            await ask(page, "\n\n".join(texts))
            await ended(page, number=number)
        shown = await page.evaluate(UNWANTED)
        await page.reload()
        await ended(page, number=2)
        again = await page.evaluate(UNWANTED)
        links = [await page.evaluate(LINKS)]
        await page.evaluate(GROWN, [*MARKUP, *MARKDOWN])
        alone = await page.evaluate(UNWANTED)
        links.append((await page.evaluate(LINKS))[len(links[0]) :])

    assert (shown, again, alone) == ([], [], [])
    assert links[0] == links[1]
    assert {url.split("/")[2] for url, _ in links[0]} == {"elsewhere.example"}
    assert {relation for _, relation in links[0]} == {"noopener noreferrer nofollow"}


async def test_no_step_and_nothing_that_waits_becomes_more_than_text(host: RunningHost) -> None:
    """In a timeline, in the inbox, in what was decided there, among schedules and facts, and in the list of threads."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/inbox-of-hostile-texts")
        await ask(page, f'Call refund with {{"order": "{HOSTILE}", "amount": 1}}')
        await page.get_by_text("May the agent call refund?").wait_for()
        await page.goto(f"{host.origin}/api/ui/#/?approvals")
        card = page.get_by_role("listitem").filter(has_text="inbox-of-hostile-texts").filter(has=page.locator(".card"))
        await card.get_by_label("Reason to refuse").fill(HOSTILE)
        inbox = await page.evaluate(UNWANTED)
        await page.keyboard.press("Enter")
        await card.get_by_text(f"Refused: {HOSTILE}.").wait_for()
        decided = await page.evaluate(UNWANTED)
        await card.get_by_role("link").first.click()
        await ended(page, number=2)
        for number in range(2):
            await page.get_by_role("button", name="Timeline").nth(number).click()
            await page.locator(".timeline").nth(number).locator(".ended").wait_for()
        await page.locator("#threads").get_by_text(HOSTILE).first.wait_for()
        steps = await page.evaluate(UNWANTED)
        async with httpx.AsyncClient(base_url=host.origin) as client:
            body = {"cron": "0 9 * * *", "message": HOSTILE}
            (await client.post("/api/agents/clerk/schedules", json=body)).raise_for_status()
            (await client.post("/api/agents/writer/memory", json={"text": HOSTILE})).raise_for_status()
        await page.get_by_role("button", name="Schedules").click()
        await page.locator(".cards").get_by_text(HOSTILE).wait_for()
        schedules = await page.evaluate(UNWANTED)
        await page.goto(f"{host.origin}/api/ui/#/writer?memory")
        await page.locator(".cards").get_by_text(HOSTILE).wait_for()
        facts = await page.evaluate(UNWANTED)
        await page.get_by_role("button", name="Edit").click()
        await expect(page.get_by_label("Edit fact")).to_have_value(HOSTILE)
        facts += await page.evaluate(UNWANTED)

    assert (inbox, decided, steps, schedules, facts) == ([], [], [], [], [])


@pytest.fixture
def elsewhere(host: RunningHost, tmp_path: Path) -> Iterator[str]:
    """A page of another origin that tries what it can. Not of this machine, for those the local host lets in."""
    api = f"{host.origin}/api"
    script = re.search("[0-9a-f]+/main[.]js", httpx.get(f"{api}/ui/").text)
    assert script is not None
    tries = TRIES.format(
        page=f"{api}/ui/",
        script=f"{api}/ui/{script[0]}",
        run=f"{api}/agents/writer/run?thread_id=forged",
        agents=f"{api}/agents",
    )
    (tmp_path / "index.html").write_text(tries)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://{ELSEWHERE}:{server.server_port}/"
    server.shutdown()
    server.server_close()


async def test_a_page_of_another_origin_can_do_nothing(host: RunningHost, elsewhere: str) -> None:
    async with profile() as context:
        page = await context.new_page()
        await page.goto(elsewhere)
        told = await page.evaluate("window.all")
        framed = await page.frame_locator("iframe[name=framed]").locator("body").inner_text()
    async with httpx.AsyncClient(base_url=host.origin) as client:
        forged = await client.get("/api/agents/writer/threads/forged")

    assert (told["read"], told["script"]) == ("TypeError", "TypeError")
    assert framed == ""
    assert forged.status_code == 404
