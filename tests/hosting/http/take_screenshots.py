"""Take the pictures of the page in docs/images: `python dev.py exec python -m tests.hosting.http.take_screenshots`."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Page

from hosting.features.overview.operations import REASONS
from tests.hosting.http.browsed_page import DESK, PHONE, REFUSED, ask, browsed, ended, sharing_browser
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
PICTURES = ROOT / "docs" / "images"
THREAD = "#/support/order-A-17"


def a_month(place: str) -> dict[str, object]:
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


def a_busy_hour(place: str) -> dict[str, object]:
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


async def keep(page: Page, name: str) -> None:
    """Take a picture of what is shown."""
    await page.wait_for_timeout(300)  # for what slides and fades
    await page.screenshot(path=PICTURES / f"{name}.png")


async def take_graph(origin: str) -> None:
    """Have a workflow ask a person, and take its graph."""
    async with browsed(origin, REFUSED) as browser:
        page = await browser.open("#/Refunds/order-A-17")
        await ask(page, "My order A-17 came late. I would like my money back.")
        await page.locator(".graph [data-state=waiting]").first.wait_for(state="attached")
        await page.locator("#waiting:not(:empty)").wait_for(state="attached")
        await page.evaluate("scrollTo(0, 0)")
        await keep(page, "page-graph")


async def take_story(origin: str) -> None:
    """Play the story, and take its views."""
    async with browsed(origin, REFUSED) as browser:
        page = await browser.open(THREAD)
        await ask(page, "Where is my order A-17?")
        await ended(page)
        await ask(page, "I cannot wait. Please refund it.")
        await page.get_by_text("May the agent call refund?").wait_for()
        await page.locator("#waiting", has_text="1").wait_for(state="attached")
        await keep(page, "page")
        await page.set_viewport_size(PHONE)
        await page.emulate_media(color_scheme="dark")
        await keep(page, "page-phone")
        await page.set_viewport_size(DESK)
        await page.emulate_media(color_scheme="light")
        await page.get_by_role("button", name="Approve").click()
        await ended(page, number=3)
        await page.get_by_role("button", name="Timeline").first.click()
        await page.locator(".timeline .ended").wait_for()
        await page.locator(".timeline .ended").scroll_into_view_if_needed()
        await page.mouse.wheel(0, 200)
        await keep(page, "page-timeline")
        for view, told, there in (
            (f"{THREAD}?files", some_files, "12 of 40 passages"),
            ("#/support?figures", a_month, "Slowest day"),
            ("#/?operations", a_busy_hour, "Retry"),
        ):
            name = view.rpartition("?")[2]
            await page.route(f"**/{name}?*", lambda route, told=told: route.fulfill(json=told(route.request.url)))
            await page.goto(f"{origin}/api/ui/{view}")
            await page.get_by_text(there).wait_for()
            await keep(page, f"page-{name}")


async def main() -> None:
    """Take all of them."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        app = Path(shutil.copytree(APP, Path(temporary) / "app"))
        flow = Path(shutil.copytree(APP, Path(temporary) / "flow"))
        (flow / "refunds.py").replace(flow / "function_app.py")
        with RunningHost(app) as host, RunningHost(flow) as of_workflow:
            async with sharing_browser():
                await take_story(host.origin)
                await take_graph(of_workflow.origin)


if __name__ == "__main__":
    asyncio.run(main())
