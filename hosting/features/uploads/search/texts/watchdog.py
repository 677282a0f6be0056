"""Ends a process that takes too much memory, where the kernel does not hold it to a limit: on macOS and Windows."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process

import psutil

_LOOK_SECONDS = 0.1


async def watch_memory(process: Process, most_bytes: int) -> bool:
    """Return True after ending the process for its memory, and False once it has ended by itself.

    What it takes between two looks is not seen: the limit is exceeded by what a tenth of a second allows.
    """
    try:
        watched = psutil.Process(process.pid)
        while process.returncode is None:
            if watched.memory_info().rss > most_bytes:
                process.kill()
                return True
            await asyncio.sleep(_LOOK_SECONDS)
    except psutil.NoSuchProcess:
        pass
    return False
