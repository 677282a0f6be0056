"""What the store of an app's attachments has of its files."""

from __future__ import annotations

import math
from typing import Literal

from hosting.host_settings import task_hub
from hosting.names import StoreKey, store_space
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments
from tests.faults.killed_app import KilledApp

Space = Literal["uploads", "uploads-due", "file-search", "file-index"]


async def names_in(app: KilledApp, *spaces: Space) -> list[str]:
    """Return the names of all objects in these spaces."""
    objects = choose_attachments(read_settings(app.stores), app.path, app.stores)
    names = list[str]()
    try:
        for holds in spaces:
            space = store_space(task_hub(app.path, app.stores), holds)
            for _, key in await objects.put_between(space, 0.0, math.inf):
                names += await objects.names(StoreKey(space, key))
    finally:
        await objects.close()
    return names
