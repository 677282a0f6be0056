"""Runs a recording's driver, as it is, with a pause before each of its requests.

As `python -m tests.recorded.paced DRIVER ...`.
The drivers look at what they started some requests earlier. Microsoft's host took longer for those than the local one,
which on a busy machine has answered a dozen before an orchestration has come to its end.
"""

from __future__ import annotations

import asyncio
import runpy
import sys
from typing import Any

import aiohttp

PAUSE_SECONDS = 0.02


class PacedSession(aiohttp.ClientSession):
    """A session whose requests begin after a pause."""

    async def _request(self, *arguments: Any, **options: Any) -> aiohttp.ClientResponse:
        await asyncio.sleep(PAUSE_SECONDS)
        return await super()._request(*arguments, **options)


if __name__ == "__main__":
    aiohttp.ClientSession = PacedSession  # type: ignore[misc]
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
