"""Uploaded files of an app that is killed: sent, looked for in its stores, and kept up a day later."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Literal

import httpx

from hosting.features.uploads.contents import PIECE_BYTES
from hosting.host_settings import task_hub
from hosting.names import StoreKey, store_space
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments
from tests.faults.killing_stores import running
from tests.faults.storm_kept import kept
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import HUB

CANARY = b"canary-4b1d"
FILE = CANARY * (PIECE_BYTES * 2 // len(CANARY) + 9)
DAYS = tuple({"CLOCK_AHEAD": str(hours * 3600)} for hours in (26, 40))
"""After the first an upload has expired, and after the second nothing is left of it."""

Space = Literal["uploads", "uploads-due", "file-search", "file-index"]


async def upload(api: Api, path: str, content: bytes = FILE) -> httpx.Response:
    """Send a file."""
    return await api.http.post(path, params={"name": "canary.txt"}, content=content)


def left(folder: Path, stores: dict[str, str]) -> list[str]:
    """Return the places where the stores have some of the file."""
    return [place for place, text in kept(folder, stores, stores[HUB]) if CANARY in text]


async def names_in(folder: Path, stores: dict[str, str], *spaces: Space) -> list[str]:
    """Return the names of all objects in these spaces of the store of attachments."""
    objects, names = choose_attachments(read_settings(stores), folder, stores), list[str]()
    try:
        for holds in spaces:
            space = store_space(task_hub(folder, stores), holds)
            for _, key in await objects.put_between(space, 0.0, math.inf):
                names += await objects.names(StoreKey(space, key))
    finally:
        await objects.close()
    return names


async def kept_up(folder: Path, stores: dict[str, str]) -> None:
    """Have the upkeep run a day later, and once more after that, until nothing is left to do."""
    for later in DAYS:
        async with running(folder, **later, **stores) as (_, api):
            assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202
            async with asyncio.timeout(GUARD_SECONDS):
                while left(folder, stores) or not is_over(later, await names_in(folder, stores, "uploads-due")):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)


def is_over(later: dict[str, str], due: list[str]) -> bool:
    """Return whether the upkeep of that time has done its part: an upload that expired is removed at first."""
    return not due or (later is DAYS[0] and any(name.endswith("-gone") for name in due))
