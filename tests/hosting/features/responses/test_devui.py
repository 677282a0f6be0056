"""agent-framework's DevUI, its real page in a headless Chromium, against the wire on a real host.

Its package asks for a FastAPI of before ours, so it is in a folder of its own, and the test hands out its files.
"""

from __future__ import annotations

import mimetypes
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.support.browsing import GUARD_MS, a_browser, needs_browser
from tests.support.python_packages import installed
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("responses.devui"),
    needs_browser,
]

HERE = Path(__file__).parent
PACKAGE = "agent-framework-devui==1.0.0b261022"


@pytest.fixture
def files(pytestconfig: pytest.Config) -> Path:
    return installed(Path(pytestconfig.cache.mkdir("devui")), PACKAGE) / "agent_framework_devui" / "ui"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    with RunningHost(shutil.copytree(HERE / "app", tmp_path / "app")) as running:
        yield running


@asynccontextmanager
async def devui(host: RunningHost, files: Path) -> AsyncIterator[Page]:
    """Yield the page at an address of the app's own, as a proxy would hand it out, set to the wire."""

    async def hand_out(route: Route) -> None:
        file = files / (route.request.url.split("/devui/")[1].split("?")[0] or "index.html")
        await route.fulfill(body=file.read_bytes(), content_type=mimetypes.guess_type(file.name)[0] or "")

    async with a_browser() as browser:
        page = await browser.new_page()
        page.set_default_timeout(GUARD_MS)
        await page.route("**/devui/**", hand_out)
        await page.add_init_script(f"localStorage.setItem('devui_backend_url', '{host.origin}/api/openai')")
        await page.goto(f"{host.origin}/devui/")
        yield page


def choice(page: Page) -> Locator:
    """Return the choice of the conversation once one is chosen, which its page locks as long as it loads or runs."""
    return page.get_by_role("combobox").filter(has_text=re.compile("^Conversation "))


async def send(page: Page, message: str) -> None:
    """Send a message once the page is ready for one; before, it would forget what was sent."""
    await expect(choice(page)).to_be_enabled()
    await page.locator("textarea").fill(message)
    await page.keyboard.press("Enter")


async def say(page: Page, message: str, answer: str) -> None:
    """Send a message, and see the answer."""
    await send(page, message)
    await expect(page.get_by_text(answer, exact=True)).to_be_visible()


async def test_its_page_chats_and_has_the_conversation_after_a_reload(host: RunningHost, files: Path) -> None:
    """With the model's tokens; a later message continues the thread. It shows every agent, and why a run failed."""
    async with devui(host, files) as page:
        await say(page, "my name is Ada", "echo: my name is Ada")
        await say(page, "recall", "my name is Ada | recall")
        await page.reload()
        await expect(page.get_by_text("echo: my name is Ada", exact=True)).to_be_visible()
        await say(page, "recall", "my name is Ada | recall | recall")
        await page.goto(f"{host.origin}/devui/?entity_id=Clerk")
        await expect(page.get_by_text("Chat with Clerk")).to_be_visible()
        await page.goto(f"{host.origin}/devui/?entity_id=Joker")
        await expect(choice(page)).to_be_enabled()
        first = await choice(page).text_content() or ""
        await page.get_by_role("button", name="New Conversation").click()
        await expect(choice(page)).not_to_have_text(first)
        await send(page, "fail")
        await expect(page.get_by_text("server_error")).to_be_visible()
