"""The pages of samples/, typed in: each command prints what its page shows, on the local host and without a network."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from agents.models import SETTINGS
from tests.samples.folders import APPS, SAMPLES, copy_app, page_of
from tests.support.broken_stream import BrokenStream
from tests.support.console_blocks import Step, is_shown, steps_in, typed
from tests.support.running_host import GUARD_SECONDS, START_GUARD_SECONDS, RunningHost, host_environment

MARK = "--end-of-output--"
OFFLINE = dict.fromkeys(SETTINGS, "")


@pytest.mark.slow
@pytest.mark.behaviour("samples.pages-run")
@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages' commands use curl")
@pytest.mark.parametrize("name", APPS)
async def test_every_command_of_a_sample_s_page_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    """On the host that `python dev.py run samples/<name>` becomes, and also when the page is pasted as a whole."""
    start, *steps = steps_in(page_of(name))
    assert start == Step(f"python dev.py run samples/{name}", ())

    with RunningHost(copy_app(name, tmp_path), environ=OFFLINE) as host:
        printed = await pasted(steps, host.origin)

    assert [
        "\n".join((step.command, *came))
        for step, came in zip(steps, printed, strict=True)
        if not is_shown(step.output, came)
    ] == []


async def pasted(steps: list[Step], origin: str) -> list[tuple[str, ...]]:
    """What a shell prints for each command, when it gets all of them at once and waits for nothing in between."""
    commands = [re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", step.command) for step in steps]
    lines = await typed(Step("".join(f"{command}\necho; echo {MARK}\n" for command in commands), ()), origin)
    printed = "\n".join(lines).split(MARK)[: len(steps)]
    return [tuple(part.strip("\n").splitlines()) for part in printed]


@pytest.mark.slow
@pytest.mark.behaviour("samples.pages-run")
def test_the_program_of_the_console_host_prints_what_its_page_shows(tmp_path: Path) -> None:
    """As `python dev.py run samples/console_host` starts it."""
    (shown,) = steps_in(page_of("console_host"))
    folder = copy_app("console_host", tmp_path)
    ended = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env=host_environment(OFFLINE),
        capture_output=True,
        text=True,
        timeout=START_GUARD_SECONDS,
        check=False,
    )

    assert shown.command == "python dev.py run samples/console_host"
    assert is_shown(shown.output, tuple(ended.stdout.splitlines())), ended.stdout + ended.stderr


@pytest.mark.behaviour("samples.pages-run")
def test_the_table_of_samples_has_a_row_for_each_and_no_other() -> None:
    linked = re.findall(r"^\| \[(\w+)\]\(\1/README\.md\) \|", (SAMPLES / "README.md").read_text("utf-8"), re.MULTILINE)

    assert sorted(linked) == sorted(path.parent.name for path in SAMPLES.glob("*/README.md"))


@pytest.mark.slow
@pytest.mark.behaviour("streams.starting-again")
def test_the_sample_s_reader_goes_on_behind_a_500_of_a_worker_that_starts_again() -> None:
    """It loses a connection, is answered 500 without a body, and reads the rest behind the last event."""
    with BrokenStream(SAMPLES) as server:
        ended = subprocess.run(
            [sys.executable, SAMPLES / "reliable_streaming" / "follow.py", server.origin, "hello"],
            capture_output=True,
            text=True,
            timeout=START_GUARD_SECONDS,
            check=False,
        )

    assert ended.stdout.splitlines()[1:] == ["one two three", "completed"], ended.stderr
    assert server.followed_behind == ["1", "2", "2"]


HOURS_72 = 72 * 3600.0


@pytest.mark.slow
@pytest.mark.behaviour("samples.seventy-two-hours")
async def test_an_answer_counts_until_72_hours_are_over_and_then_nobody_has_answered(tmp_path: Path) -> None:
    """Three processes: one begins, one is there a minute before the end, one when it is over."""
    app = copy_app("approval_by_person", tmp_path)
    with RunningHost(app) as host:
        for article in ("one", "two"):
            await call(host, article, "bread")
            await until_shown(host, article, "Waits for approval: Bread")

    with RunningHost(app, str(HOURS_72 - 60), module="tests.samples.later_host") as host:
        await call(host, "one/approval", "yes")
        await until_shown(host, "one", "Published: Bread")
        await until_shown(host, "two", "Waits for approval: Bread")

    with RunningHost(app, str(HOURS_72), module="tests.samples.later_host") as host:
        await until_shown(host, "two", "Nobody answered within 72 hours.")


async def call(host: RunningHost, place: str, body: str) -> None:
    """Send what a person types."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        answer = await http.post(f"/api/articles/{place}", content=body)
    assert answer.status_code == 202, answer.text


async def until_shown(host: RunningHost, article: str, begins: str) -> None:
    """Return once the article's page begins so, under the guard."""
    async with httpx.AsyncClient(base_url=host.origin) as http:
        await asyncio.wait_for(look(http, article, begins), GUARD_SECONDS)


async def look(http: httpx.AsyncClient, article: str, begins: str) -> None:
    """Look again and again."""
    while True:
        shown = await http.get(f"/api/articles/{article}")
        if shown.text.startswith(begins):
            return
        await asyncio.sleep(0.01)
