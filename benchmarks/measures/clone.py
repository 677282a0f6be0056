"""From `git clone` to the first answer, as a newcomer does it: what the app needs is installed on the way."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.app_folder import ROOT, temporary_folder
from benchmarks.figures import Figure, Result
from benchmarks.host_process import hosted
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn

CLONE_GUARD_SECONDS = 120


async def measure(sizes: Sizes) -> Result:
    """Twice: the first time with whatever the package cache holds, then with the cache that the first one left."""
    first, again = await clone_to_answer_seconds(), await clone_to_answer_seconds()
    return Result((Figure("first", first, "s"), Figure("again", again, "s")))


async def clone_to_answer_seconds() -> float:
    """Clone what is committed in this checkout into a new folder, run it and ask; the folder is deleted."""
    with temporary_folder() as parent:
        began = time.perf_counter()
        clone = cloned(parent)
        async with hosted(clone, (sys.executable, "dev.py", "run", "--port", "0")) as host:
            async with host.connection() as connection:
                await take_turn(connection, "assistant", "What is the weather in Paris?")
            return time.perf_counter() - began


def cloned(parent: Path) -> Path:
    target = parent / "clone"
    command = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target)]
    subprocess.run(command, check=True, timeout=CLONE_GUARD_SECONDS)
    return target
