"""Python packages that a test needs and that ask for others than ours: in a folder of their own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from filelock import FileLock

from tests.support.running_host import ROOT

CHAT_CLIENT = ("agent-framework-ag-ui==1.7.0", "ag-ui-protocol==0.1.19", "sse-starlette==3.4.5")
"""agent-framework's AGUIChatClient, and the types of before 1.0 that it asks for."""

GUARD_SECONDS = 60


def installed(cache: Path, *packages: str) -> Path:
    """Return a folder with these packages alone, each `name==version`, without what they ask for."""
    folder = cache / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
    with FileLock(cache / "lock"):  # two processes may test at once
        if not (folder / "complete").exists():
            target = ("--quiet", "--no-deps", "--target", str(folder))
            subprocess.run([sys.executable, "-m", "uv", "pip", "install", *target, *packages], check=True)
            (folder / "complete").touch()
    return folder


async def printed_with(packages: Path, script: Path, *arguments: str) -> Any:
    """Return the JSON that a script prints in a process that has these packages too."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), *arguments),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)])},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()
    return json.loads(printed)
