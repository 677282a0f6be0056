"""A copy of the tree in a folder of its own, hosted by a real process on a free port."""

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agents.models import SETTINGS
from tests.support.compiled import copy_compiled

ROOT = Path(__file__).resolve().parents[2]
INSTALL_SECONDS = 300


@dataclass(frozen=True)
class RunningApp:
    """What the host printed until it was ready, where it answers, and what it printed since, once it has ended."""

    printed: tuple[str, ...]
    origin: str
    printed_since: list[str] = field(default_factory=list)


def copy_tree(folder: Path) -> None:
    """What a clone would bring, with what was edited and added since, and what Python compiled of it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy_compiled(ROOT / name, folder / name)


def answer_within(clone: Path, seconds: float) -> None:
    """Have the tool that a page has its reader write be as slow as that: its five seconds are to press keys in."""
    agent = clone / "agents" / "support.py"
    text, count = re.subn(r"asyncio\.sleep\([\d.]+\)", f"asyncio.sleep({seconds})", agent.read_text(encoding="utf-8"))
    assert count == 1
    agent.write_text(text, encoding="utf-8")


@asynccontextmanager
async def running(command: list[str], folder: Path, **environ: str) -> AsyncIterator[RunningApp]:
    """`command` in `folder`, from its last start-up line until it is terminated at the end of the block.

    `environ` comes on top of this process's variables, without the settings of models that those may hold.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**inherited, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    since: list[str] = []
    try:
        app = await asyncio.wait_for(started(process), INSTALL_SECONDS)
        since = app.printed_since
        yield app
    finally:
        if process.returncode is None:
            process.terminate()
        output, _ = await asyncio.wait_for(process.communicate(), 30)
        since += output.decode(errors="replace").splitlines()


async def started(process: asyncio.subprocess.Process) -> RunningApp:
    """Reads to the line with the first request to try; raises, with what was printed, when the process ends before."""
    assert process.stdout is not None
    printed: list[str] = []
    async for line in process.stdout:
        printed.append(line.decode().rstrip())
        if printed[-1].startswith("Try:"):
            return RunningApp(tuple(printed), origin_in("\n".join(printed)))
    raise AssertionError("the host ended:\n" + "\n".join(printed))


def origin_in(text: str) -> str:
    found = re.search(r"http://localhost:\d+", text)
    assert found is not None, text
    return found[0]
