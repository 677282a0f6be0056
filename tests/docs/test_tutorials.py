"""The tutorials of docs/tutorials/ beside the first one, followed step by step in a clone; the cloud is left out."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.support.browsing import a_browser, needs_browser
from tests.support.console_blocks import Step, is_shown, steps_in, typed
from tests.support.pages import code, page, part
from tests.support.running_host import RunningHost
from tests.support.template_process import copy_tree

CHAT, APPROVAL = page("docs/tutorials/a-chat-page.md"), page("docs/tutorials/an-approval.md")
GUARD_MS = 20_000.0

pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.behaviour("docs.tutorials")]
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the pages' commands use curl")


def make_chat_page(clone: Path) -> None:
    """Make the file of the page, and add its function to function_app.py."""
    copy_tree(clone)
    (function,), (html,) = code(CHAT, "python"), code(CHAT, "html")
    with (clone / "function_app.py").open("a", encoding="utf-8") as app:
        app.write(f"\n\n{function}")
    (clone / "chat.html").write_text(html, encoding="utf-8")


def make_clerk(clone: Path) -> None:
    """Make the agent of the page, and change function_app.py as it says."""
    copy_tree(clone)
    agent, app = code(APPROVAL, "python")
    (clone / "agents" / "clerk.py").write_text(agent, encoding="utf-8")
    line, _, call = app.strip().partition("\n\n")
    text = (clone / "function_app.py").read_text(encoding="utf-8")
    (old,) = re.findall(r"^app = .*$", text, re.MULTILINE)
    text = text.replace(old, call).replace("\nfrom agents", f"\n{line}\nfrom agents", 1)
    (clone / "function_app.py").write_text(text, encoding="utf-8")


def start_again(clone: Path, origin: str) -> RunningHost:
    """Return a host of the clone at the address of one that has ended."""
    return RunningHost(clone, "--port", origin.rpartition(":")[2])


async def check(step: Step, origin: str) -> None:
    printed = await typed(step, origin)
    assert is_shown(step.output, printed), f"{step.command}\n" + "\n".join(printed)


@needs_curl
@needs_browser
async def test_the_chat_page_answers_is_loaded_again_and_outlives_a_killed_server(tmp_path: Path) -> None:
    """What the page shows is what the tutorial prints; nothing is asked of another server."""
    make_chat_page(tmp_path)
    (served,) = steps_in(CHAT)
    (asked,), (after,) = code(part(CHAT, "## 2. Talk"), "text"), code(part(CHAT, "## 4. Kill the server"), "text")
    first, second = (block.splitlines() for block in (asked, after))
    urls: list[str] = []

    with RunningHost(tmp_path) as host:
        origin = host.origin
        await check(served, origin)
        async with a_browser() as browser:
            shown = await browser.new_page()
            shown.on("request", lambda request: urls.append(request.url))
            await shown.goto(f"{origin}/api/chat")
            await shown.fill("input", first[0].removeprefix("You: "))
            await shown.press("input", "Enter")
            await expect(shown.locator("p")).to_have_text(first)
            await shown.reload()
            await expect(shown.locator("p")).to_have_text(first)
            host.stop()
            await shown.fill("input", second[0].removeprefix("You: "))
            await shown.press("input", "Enter")
            await expect(shown.locator("p").last).to_have_text("...")
            with start_again(tmp_path, origin):
                await expect(shown.locator("p")).to_have_text([*first, *second], timeout=GUARD_MS)
                await shown.reload()
                await expect(shown.locator("p")).to_have_text([*first, *second])
                await shown.fill("input", "And in Tokyo?")
                await shown.press("input", "Enter")
                await expect(shown.locator("p").last).to_contain_text("The weather")  # and the host is killed
            with start_again(tmp_path, origin):
                await expect(shown.locator("p").last).to_have_text(
                    "The weather in Tokyo: clear, 21 °C.", timeout=GUARD_MS
                )
                await expect(shown.locator("button")).to_be_enabled()
                thread = await shown.evaluate("localStorage.thread")
                messages = await requested("GET", f"{origin}/api/agents/assistant/threads/{thread}/messages")

    assert [entry["type"] for entry in messages.json()["entries"]] == ["request", "response"] * 3
    assert [url for url in urls if not url.startswith(origin)] == []


@needs_curl
async def test_the_approval_waits_over_a_restart_and_is_decided_once(tmp_path: Path) -> None:
    make_clerk(tmp_path)
    asks, listed, refused, approves, too_late = steps_in(APPROVAL)

    with RunningHost(tmp_path) as host:
        origin = host.origin
        await check(asks, origin)
        host.stop()
    with start_again(tmp_path, origin):
        await check(listed, origin)
        waiting = await requested("GET", f"{origin}/api/agents/clerk/threads/first/approvals")
        (approval,) = waiting.json()["approvals"]
        await check(refused, origin)
        for step in (approves, approves, too_late):
            await check(replace(step, command=step.command.replace("/ID ", f"/{approval['id']} ")), origin)


async def requested(method: str, url: str, **options: Any) -> httpx.Response:
    async with httpx.AsyncClient(timeout=20) as http:
        return await http.request(method, url, **options)
