"""The tutorials of docs/tutorials/, and the requests that pages show first, followed step by step in a clone."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.support.azurite import Azurite
from tests.support.browsing import a_browser, needs_browser
from tests.support.console_blocks import Step, is_shown, steps_in, typed
from tests.support.pages import code, page, part
from tests.support.running_host import RunningHost
from tests.support.template_process import answer_within, copy_tree

CHAT, APPROVAL = page("docs/tutorials/a-chat-page.md"), page("docs/tutorials/an-approval.md")
GUARD_MS = 20_000.0
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the pages' commands use curl")


def make_chat_page(clone: Path) -> None:
    """Make the file of the page, and add its function to function_app.py."""
    copy_tree(clone)
    (function,), (html,) = code(CHAT, "python"), code(CHAT, "html")
    with (clone / "function_app.py").open("a", encoding="utf-8") as app:
        app.write(f"\n\n{function}")
    (clone / "chat.html").write_text(html, encoding="utf-8")


def add_agent(clone: Path, name: str, agent: str, app: str) -> None:
    """Make the file of an agent of a page in a clone, and change function_app.py as the page says."""
    copy_tree(clone)
    (clone / "agents" / f"{name}.py").write_text(agent, encoding="utf-8")
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


@pytest.mark.slow(seconds=10)
@pytest.mark.behaviour("docs.tutorials")
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


@pytest.mark.slow(seconds=5)
@pytest.mark.behaviour("docs.tutorials")
@needs_curl
async def test_the_approval_waits_over_a_restart_and_is_decided_once(tmp_path: Path) -> None:
    add_agent(tmp_path, "clerk", *code(APPROVAL, "python"))
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


STARTED = page("docs/tutorials/getting-started.md")
OWN, TEST, CRASH, STREAM = (
    "## 2. Add an agent and a tool",
    "## 3. Test it without a model",
    "## 4. Kill the server in the middle of a run",
    "## 5. Stream the response",
)


def follow(clone: Path) -> None:
    """Make the files of the page, and change function_app.py as it says."""
    agent, app = code(part(STARTED, OWN), "python")
    add_agent(clone, "support", agent, app)
    answer_within(clone, 0.5)
    (test,) = code(part(STARTED, TEST), "python")
    (clone / "tests" / "agents" / "test_support.py").write_text(test, encoding="utf-8")


@pytest.mark.behaviour("docs.getting-started")
@pytest.mark.slow
@needs_curl
async def test_each_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    """In its order, up to the stream and the rest of it."""
    follow(tmp_path)
    _, _, first = steps_in(part(STARTED, "## 1. Get a first response"))
    (called,), (streamed,) = steps_in(part(STARTED, OWN)), steps_in(part(STARTED, STREAM))
    (rest,) = code(part(STARTED, STREAM), "sh")

    with RunningHost(tmp_path) as host:
        for step in (first, called):
            printed = await typed(step, host.origin)
            assert is_shown(step.output, printed), printed
        printed = await typed(streamed, host.origin)
        assert is_shown(streamed.output, printed), printed
        (address,) = re.findall(r"(?im)^content-location: (\S+)", "\n".join(printed))
        again = "\n".join(await typed(Step(rest.replace("CONTENT-LOCATION", address), ()), host.origin))

    assert again.startswith("id: 5\nevent: tool_result\n")
    assert "event: completed" in again


@pytest.mark.behaviour("docs.getting-started")
@pytest.mark.slow
def test_its_test_passes_in_the_clone(tmp_path: Path) -> None:
    """By the command on the page, with the Python of this run."""
    follow(tmp_path)
    assert "python dev.py test tests/agents/test_support.py" in STARTED
    command = [sys.executable, "-m", "pytest", "-n", "0", "tests/agents/test_support.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout


SHOWN = (
    "docs/reference/http-runs.md",
    "docs/reference/streaming.md",
    "docs/guides/schedules.md",
    "docs/guides/forks.md",
)


@pytest.mark.slow
@pytest.mark.behaviour("docs.examples-run")
@needs_curl
async def test_each_request_of_a_page_gets_what_the_page_shows(tmp_path: Path) -> None:
    """Ids and times differ; dots stand for what is left out."""
    copy_tree(tmp_path)
    model = tmp_path / "hosting" / "offline" / "model.py"
    slower = model.read_text(encoding="utf-8").replace("WORD_SECONDS = 0.05", "WORD_SECONDS = 0.25")
    model.write_text(slower, encoding="utf-8")  # so that no two words are one delta on a machine that is busy
    seen = Counter[str]()
    with RunningHost(tmp_path) as host:
        for name in SHOWN:
            for step in steps_in(page(name)):
                if step.command.startswith("curl"):
                    printed = await typed(step, host.origin)
                    assert is_shown(step.output, printed), f"{step.command}\n" + "\n".join(printed)
                    seen[name] += 1

    assert list(seen.values()) == [2, 1, 1, 3]


INBOX = page("docs/tutorials/an-inbox.md")
CLOCK = Path(__file__).resolve().parents[1] / "support" / "later_clock.cjs"
TEN_MINUTES = 10 * 60 * 1000
INBOX_SECONDS = 60.0


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that sets the clock of the storage ahead."""
    file = tmp_path / "later"
    file.write_text("0")
    monkeypatch.setenv("LATER", str(file))
    return file


@pytest.fixture
def setting(later: Path, npm_packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A storage account whose clock the test sets."""
    with monkeypatch.context() as context:
        context.setenv("NODE_OPTIONS", f"--require {CLOCK}")
        azurite = Azurite(npm_packages, tmp_path)
    yield azurite.connection_string
    azurite.stop()


def make_inbox(clone: Path) -> None:
    """Make the agent of Getting started and add the functions of the page."""
    (functions,) = code(INBOX, "python")
    agent, app, *_ = code(STARTED, "python")
    add_agent(clone, "support", agent, app)
    with (clone / "function_app.py").open("a", encoding="utf-8") as file:
        file.write(f"\n\n{functions}")


@pytest.mark.slow(seconds=12)
@pytest.mark.behaviour("docs.tutorials")
@needs_curl
async def test_the_inbox_is_answered_though_the_server_is_killed(tmp_path: Path, setting: str, later: Path) -> None:
    """By the lines that the page shows; one that cannot be read is given up, and another is answered beside it."""
    clone = tmp_path / "clone"
    make_inbox(clone)
    first, second, unreadable = steps_in(INBOX)
    answer, again = (block.strip() for block in code(INBOX, "text"))
    thread = re.findall(r"api/ui/#/support/(\w+)", INBOX)[0]
    environ = {"AzureWebJobsStorage": setting}

    answer_within(clone, 2)  # and the kill comes meanwhile
    with RunningHost(clone, environ=environ) as host:
        assert is_shown(first.output, await typed(first, host.origin))
        host.wait_for(answer, INBOX_SECONDS)
        assert is_shown(second.output, await typed(second, host.origin))
        host.wait_for("calls tool find_order", INBOX_SECONDS)
    answer_within(clone, 0.2)
    with RunningHost(clone, environ=environ) as host:
        address = f"{host.origin}/api/agents/support/threads/{thread}/messages"
        await asyncio.wait_for(until_said(address, again.partition(": ")[2]), INBOX_SECONDS)
        assert again not in host.printed_so_far()
        later.write_text(str(TEN_MINUTES))
        host.wait_for(again, INBOX_SECONDS)
        assert is_shown(unreadable.output, await typed(unreadable, host.origin))
        host.wait_for("was moved to 'inbox-poison'", INBOX_SECONDS)
        entries = (await requested("GET", address)).json()["entries"]

    assert [entry["type"] for entry in entries] == ["request", "response"] * 2


async def until_said(address: str, text: str) -> None:
    """Return once the thread has an answer with this text."""
    while text not in (await requested("GET", address)).text:  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.05)
