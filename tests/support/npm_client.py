"""An official client from npm, as a script that prints what it got."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.node_packages import RegistryUnreachableError, install, node

GUARD_SECONDS = 60


def with_packages(script: Path, cache: Path) -> Path:
    """Return a copy of the script beside what the lock in the folder `node` next to it names.

    Without npm's registry and without a copy in the cache the test is skipped.
    """
    try:
        folder = install(script.parent / "node", cache)
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of its packages")
    return Path(shutil.copy(script, folder))


async def printed_by(script: Path, *arguments: str) -> Any:
    """Return the JSON that the script prints; fails with what it complains of."""
    process = await asyncio.create_subprocess_exec(
        *(node(), str(script), *arguments), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()
    return json.loads(printed)
