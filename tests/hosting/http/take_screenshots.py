"""Take the pictures of the page in docs/images: `python dev.py exec python -m tests.hosting.http.take_screenshots`.

Each view in both themes and at both widths goes to a folder if one is given, to be looked at.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from tests.hosting.http.browsed_page import ask, browsed, ended
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
PICTURES = ROOT / "docs" / "images"
THREAD = "#/support/order-A-17"
SHOWN = {("approval", "light", False): "page.png", ("approval", "dark", True): "page-phone.png"}


async def take(origin: str, folder: Path, theme: str, *, is_phone: bool) -> None:
    """Play the story in one look, and take each view."""

    async def shot(name: str) -> None:
        await page.wait_for_timeout(300)  # for what slides and fades
        path = folder / f"{name}-{theme}{'-phone' if is_phone else ''}.png"
        await page.screenshot(path=path)
        if shown := SHOWN.get((name, theme, is_phone)):
            shutil.copyfile(path, PICTURES / shown)

    async with browsed(origin, "Failed to load resource", is_phone=is_phone, theme=theme) as browser:
        page = await browser.open("#/support")
        await page.get_by_text("Ask support").wait_for()
        await shot("empty")
        await page.goto(f"{origin}/api/ui/{THREAD}")
        await ask(page, "Where is my order A-17?")
        await page.locator(".markdown", has_text="handed to").wait_for()
        await shot("streaming")
        await ended(page)
        await ask(page, "I cannot wait. Please refund it.")
        await page.get_by_text("May the agent call refund?").wait_for()
        await shot("approval")
        await page.get_by_role("button", name="Approve").click()
        await ended(page, number=3)
        await shot("approved")
        await page.get_by_label("Copy the last request as curl or Python").click()
        await shot("commands")
        await page.keyboard.press("Escape")
        if is_phone:
            await page.get_by_role("button", name="Agents and threads").click()
            await shot("side")
            await page.keyboard.press("Escape")
        await page.get_by_label("Delete the thread").click()
        await page.get_by_role("button", name="Delete it").click()
        await page.locator(".receipt").wait_for()
        await shot("receipt")
        await page.get_by_role("button", name="Close", exact=True).click()
        await page.goto(f"{origin}/api/ui/#/writer/failed")
        await ask(page, "fail")
        await ended(page, "failed")
        await shot("failed")


async def main(folder: Path) -> None:
    """Take all of them."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        app = Path(shutil.copytree(APP, Path(temporary) / "app"))
        with RunningHost(app) as host:
            for theme in ("light", "dark"):
                for is_phone in (False, True):
                    await take(host.origin, folder, theme, is_phone=is_phone)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as unseen:
        asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else unseen)))
