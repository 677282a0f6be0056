"""The pages of samples/, typed in: each command prints what its page shows, on the local host and without a network."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents.models import SETTINGS
from tests.samples.folders import APPS, SAMPLES, copy_app, page_of
from tests.support.console_blocks import Step, is_shown, steps_in, typed
from tests.support.running_host import START_GUARD_SECONDS, RunningHost, host_environment

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
