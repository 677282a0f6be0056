"""The tutorial of an inbox in a queue, followed step by step in a clone, over Azurite."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.azurite import Azurite
from tests.support.console_blocks import is_shown, steps_in, typed
from tests.support.pages import code, page
from tests.support.running_host import RunningHost
from tests.support.template_process import copy_tree

INBOX, STARTED = page("docs/tutorials/an-inbox.md"), page("docs/tutorials/getting-started.md")
CLOCK = Path(__file__).resolve().parents[1] / "support" / "later_clock.cjs"
TEN_MINUTES = 10 * 60 * 1000
GUARD_SECONDS = 60.0

pytestmark = [
    pytest.mark.slow(seconds=30),
    pytest.mark.behaviour("docs.tutorials"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="the page's commands use curl"),
]


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
    copy_tree(clone)
    (functions,) = code(INBOX, "python")
    agent, app, *_ = code(STARTED, "python")
    (clone / "agents" / "support.py").write_text(agent, encoding="utf-8")
    line, _, call = app.strip().partition("\n\n")
    text = (clone / "function_app.py").read_text(encoding="utf-8")
    (old,) = re.findall(r"^app = .*$", text, re.MULTILINE)
    text = text.replace(old, call).replace("\nfrom agents", f"\n{line}\nfrom agents", 1)
    (clone / "function_app.py").write_text(f"{text}\n\n{functions}", encoding="utf-8")


async def test_the_inbox_is_answered_though_the_server_is_killed(tmp_path: Path, setting: str, later: Path) -> None:
    """By the lines that the page shows; one that cannot be read is given up, and another is answered beside it."""
    clone = tmp_path / "clone"
    make_inbox(clone)
    first, second, unreadable = steps_in(INBOX)
    answer, again = (block.strip() for block in code(INBOX, "text"))
    thread = re.findall(r"api/ui/#/support/(\w+)", INBOX)[0]
    environ = {"AzureWebJobsStorage": setting}

    with RunningHost(clone, environ=environ) as host:
        assert is_shown(first.output, await typed(first, host.origin))
        host.wait_for(answer, GUARD_SECONDS)
        assert is_shown(second.output, await typed(second, host.origin))
        host.wait_for("calls tool find_order", GUARD_SECONDS)
    with RunningHost(clone, environ=environ) as host:
        address = f"{host.origin}/api/agents/support/threads/{thread}/messages"
        await asyncio.wait_for(until_said(address, again.partition(": ")[2]), GUARD_SECONDS)
        assert again not in host.printed_so_far()
        later.write_text(str(TEN_MINUTES))
        host.wait_for(again, GUARD_SECONDS)
        assert is_shown(unreadable.output, await typed(unreadable, host.origin))
        host.wait_for("was moved to 'inbox-poison'", GUARD_SECONDS)
        async with httpx.AsyncClient() as http:
            entries = (await http.get(address)).json()["entries"]

    assert [entry["type"] for entry in entries] == ["request", "response"] * 2


async def until_said(address: str, text: str) -> None:
    """Return once the thread has an answer with this text."""
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
        while text not in (await http.get(address)).text:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.05)
