"""Take the pictures of the page in docs/images: `python dev.py exec python -m tests.hosting.http.take_screenshots`.

Each view in both themes and at both widths goes to a folder if one is given, to be looked at.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from playwright.async_api import Page

from hosting.features.overview.operations import REASONS
from tests.hosting.http.browsed_page import ask, browsed, ended, sharing_browser
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
PICTURES = ROOT / "docs" / "images"
THREAD = "#/support/order-A-17"
CODE = """Read it line by line:

```python
async def total(orders: list[str]) -> float:
    # The shop's own prices
    return sum([await price(order) for order in orders], start=2.5)
```

The answer is `{"total": 120}`."""
SHOWN = {
    ("approval", "light", False): "page.png",
    ("approval", "dark", True): "page-phone.png",
    ("timeline", "light", False): "page-timeline.png",
    ("figures", "light", False): "page-figures.png",
    ("operations", "light", False): "page-operations.png",
    ("files", "light", False): "page-files.png",
    ("graph", "light", False): "page-graph.png",
}


def a_month() -> dict[str, object]:
    """Return a month of figures, as the app tells them: the app of the pictures has one day."""
    days = [
        {
            "day": f"2026-10-{day:02}",
            "runs": runs,
            "failures": {"run_timed_out": runs // 60} if day % 4 == 0 else {},
            "cancelled": runs // 25,
            "latency_seconds": {"mean": 2.0, "p50": 1.4 + day % 5 / 9, "p95": 3.6 + day % 7 / 3, "max": 9.0},
            "usage": {
                "input_token_count": runs * 410,
                "output_token_count": runs * 95,
                "total_token_count": runs * 505,
            },
        }
        for day in range(1, 31)
        for runs in (40 + day * 5 % 37 + (day % 7 < 5) * 60,)
    ]
    return {"agent": "support", "as_of": "2026-10-30T12:00:00+00:00", "days": days}


def a_busy_hour() -> dict[str, object]:
    """Return what agents are at when there is much to do, as the app tells it: in that of the pictures nothing is."""
    now = datetime.now(UTC)

    def agent(name: str, queued: int, running: int, ended: int, **failures: int) -> dict[str, object]:
        tokens = {"input_token_count": ended * 410, "output_token_count": ended * 95, "total_token_count": ended * 505}
        oldest = (now - timedelta(seconds=150)).isoformat() if queued else None
        today = {
            "runs": ended,
            "failures": failures,
            "cancelled": ended // 40,
            "usage": tokens,
            "cost": str(ended * 0.0025),
        }
        at = {"queued": queued, "oldest_queued_at": oldest, "running": running, "taken_over": int(queued > 0)}
        calls = {"read": ended * 6, "append": ended * 3, "failed": 0}
        begun = {"attempts": running + int(queued > 0), "store_calls_here": calls}
        return {"agent": name, "kind": "agent", **at, **begun, "today": today}

    stuck = {"agent": "support", "kind": "agent", "owner": "app", "thread_id": "order-A-17", "run_id": "0ac6" * 8}
    since = (now - timedelta(seconds=900)).isoformat()
    return {
        "as_of": now.isoformat(),
        "looked_at": 214,
        "complete": True,
        "store_calls_here": {"read": 10_730, "append": 5_325, "failed": 0},
        "agents": [
            agent("assistant", 0, 2, 412),
            agent("clerk", 0, 0, 96),
            agent("support", 3, 4, 1_250, run_failed=12, run_timed_out=3),
            agent("writer", 0, 0, 17),
        ],
        "stuck": [{**stuck, "code": "not_taken_up", "since": since, "seen": "1", "reason": REASONS["not_taken_up"]}],
    }


def some_files(place: str) -> dict[str, object]:
    """Return files of a thread, an agent or an owner, as the app tells them: no agent of the pictures searches any."""
    at = (datetime.now(UTC) - timedelta(minutes=4)).isoformat()
    ready: dict[str, object] = {"status": "ready", "chunks": 40, "embedded": 40}
    scanned = "The file has no text. If its pages are pictures, upload it with recognized text."
    failed = {"status": "failed", "chunks": 0, "embedded": 0, "code": "file_has_no_text", "error": scanned}
    known: dict[str, list[tuple[str, int, dict[str, object]]]] = {
        "threads": [
            ("invoice-A-17.pdf", 184_220, ready),
            ("all-invoices-2026.pdf", 8_411_003, {"status": "embedding", "chunks": 40, "embedded": 12}),
            ("scanned-letter.pdf", 2_204_118, failed),
        ],
        "agents": [("terms-of-delivery.docx", 48_112, ready)],
    }
    kind = "threads" if "/threads/" in place else "agents" if "/agents/" in place else "mine"
    files = [
        {"file_id": f"{kind}{number}", "name": name, "bytes": size, "created_at": at, "index": index}
        for number, (name, size, index) in enumerate(known.get(kind, []))
    ]
    quota = {"bytes": sum(size for _, size, _ in known.get(kind, [])), "open_bytes": 0}
    return {
        "files": files,
        "next_cursor": None,
        "quota": {**quota, "quota_bytes": 10_737_418_240, "file_bytes": 536_870_912},
    }


async def keep(page: Page, folder: Path, name: str, theme: str, *, is_phone: bool) -> None:
    """Take one view, and have it among the pictures if it is one of those."""
    await page.wait_for_timeout(300)  # for what slides and fades
    path = folder / f"{name}-{theme}{'-phone' if is_phone else ''}.png"
    await page.screenshot(path=path)
    if shown := SHOWN.get((name, theme, is_phone)):
        shutil.copyfile(path, PICTURES / shown)


async def take_graph(origin: str, folder: Path, theme: str, *, is_phone: bool) -> None:
    """Have a workflow ask a person, and take its graph."""
    async with browsed(origin, "Failed to load resource", is_phone=is_phone, theme=theme) as browser:
        page = await browser.open(f"#/Refunds/order-A-17-{theme}{'-phone' if is_phone else ''}")
        await ask(page, "My order A-17 came late. I would like my money back.")
        await page.locator(".graph [data-state=waiting]").first.wait_for(state="attached")
        await page.locator("#waiting:not(:empty)").wait_for(state="attached")
        await page.evaluate("scrollTo(0, 0)")
        await keep(page, folder, "graph", theme, is_phone=is_phone)


async def take(origin: str, folder: Path, theme: str, *, is_phone: bool) -> None:
    """Play the story in one look, and take each view."""

    async def shot(name: str) -> None:
        await keep(page, folder, name, theme, is_phone=is_phone)

    async with browsed(origin, "Failed to load resource", is_phone=is_phone, theme=theme) as browser:
        page = await browser.open("#/support")
        await page.get_by_text("Ask support").wait_for()
        await shot("empty")
        await page.get_by_role("button", name="Agent", exact=True).click()
        await page.locator(".about details summary").first.click()
        await shot("agent")
        await page.goto(f"{origin}/api/ui/{THREAD}")
        await ask(page, "Where is my order A-17?")
        await page.locator(".markdown", has_text="handed to").wait_for()
        await shot("streaming")
        await ended(page)
        await ask(page, "I cannot wait. Please refund it.")
        await page.get_by_text("May the agent call refund?").wait_for()
        await page.locator("#waiting", has_text="1").wait_for(state="attached")
        await shot("approval")
        await page.get_by_role("button", name="Approve").click()
        await ended(page, number=3)
        await shot("approved")
        await page.get_by_role("button", name="Timeline").first.click()
        await page.locator(".timeline .ended").wait_for()
        await page.locator(".timeline .ended").scroll_into_view_if_needed()
        await page.mouse.wheel(0, 200)
        await shot("timeline")
        await page.locator(".timeline .tool_call summary").click()
        await shot("timeline-of-a-tool")
        await page.locator(".timeline .tool_call summary").click()
        await page.locator(".timeline .model_call summary.line").last.click()
        await page.locator(".call pre").last.wait_for()
        await page.locator(".timeline .model_call").last.evaluate("row => row.scrollIntoView()")
        await page.mouse.wheel(0, -120)
        await shot("model-call")
        await page.locator(".call .more > summary").click()
        await page.locator(".call .about pre").first.wait_for()
        await page.locator(".call .more").evaluate("row => row.scrollIntoView()")
        await page.mouse.wheel(0, -120)
        await shot("model-call-now")
        await page.get_by_label("Call it from your code").click()
        await shot("commands")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Figures").click()
        await page.locator(".chart svg").first.wait_for()
        await shot("figures-of-thread")
        await page.route("**/files?*", lambda route: route.fulfill(json=some_files(route.request.url)))
        await page.goto(f"{origin}/api/ui/{THREAD}?files")
        await page.get_by_text("12 of 40 passages").wait_for()
        await shot("files")
        await page.route("**/figures?*", lambda route: route.fulfill(json=a_month()))
        await page.goto(f"{origin}/api/ui/#/support?figures")
        await page.get_by_text("Slowest day").wait_for()
        await shot("figures")
        await page.route("**/operations?*", lambda route: route.fulfill(json=a_busy_hour()))
        await page.goto(f"{origin}/api/ui/#/?operations")
        await page.get_by_role("button", name="Retry").wait_for()
        await shot("operations")
        for number, message in enumerate(("Please refund it.", "It is late, I want a refund.")):
            await page.goto(f"{origin}/api/ui/#/support/refund-{number}")
            await page.locator(f"#threads [aria-current][title=refund-{number}]").wait_for(state="attached")
            await ask(page, message)
            await page.get_by_text("May the agent call refund?").wait_for()
        await page.goto(f"{origin}/api/ui/#/?approvals")
        await page.get_by_text("refund-0").wait_for()
        await shot("inbox")
        for _ in range(2):
            await page.get_by_role("button", name="Approve").first.click()
        await page.goto(f"{origin}/api/ui/{THREAD}")
        await ended(page, number=3)
        if is_phone:
            await page.get_by_role("button", name="Agents and threads").click()
            await shot("side")
            await page.keyboard.press("Escape")
        await page.get_by_label("Delete the thread").click()
        await page.get_by_role("button", name="Delete thread").click()
        await page.locator(".receipt").wait_for()
        await shot("receipt")
        await page.get_by_role("button", name="Close", exact=True).click()
        await page.goto(f"{origin}/api/ui/#/writer/failed")
        await ask(page, "fail")
        await ended(page, "failed")
        await shot("failed")
        await page.goto(f"{origin}/api/ui/#/writer/code-{theme}-{is_phone}")
        await page.get_by_text("No messages yet").wait_for()
        await ask(page, CODE)
        await ended(page)
        await shot("code")
        await page.get_by_role("button", name="Download").click()
        await shot("download")
        await page.keyboard.press("Escape")
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("?")
        await shot("shortcuts")


async def main(folder: Path) -> None:
    """Take all of them."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        app = Path(shutil.copytree(APP, Path(temporary) / "app"))
        flow = Path(shutil.copytree(APP, Path(temporary) / "flow"))
        (flow / "refunds.py").replace(flow / "function_app.py")
        with RunningHost(app) as host, RunningHost(flow) as of_workflow:
            async with sharing_browser():
                for theme, is_phone in product(("light", "dark"), (False, True)):
                    await take(host.origin, folder, theme, is_phone=is_phone)
                    await take_graph(of_workflow.origin, folder, theme, is_phone=is_phone)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as unseen:
        asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else unseen)))
