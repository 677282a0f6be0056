"""The app under test, whose process dies before or after its archive has taken what moves: `KILL_AT=before:2`."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import partial
from typing import Any

from scripted import scripted_agent

import hosting.app
from hosting import store_choice
from hosting.core.stores.archive import SumsOf, Volume

POINT, _, COUNT = os.environ.get("KILL_AT", "").partition(":")


class KilledArchive:
    """The app's archive, with two points at which its process may be killed."""

    left = int(COUNT or 0)

    def __init__(self, archive: Any) -> None:
        self._archive = archive

    def __getattr__(self, name: str) -> Any:
        return getattr(self._archive, name)

    async def put(self, volume: Volume, first: int, entries: Sequence[str], sums: SumsOf | None = None) -> None:
        """Put the entries, unless this is the time to die."""
        KilledArchive.left -= 1
        die_at("before")
        await self._archive.put(volume, first, entries, sums)
        die_at("after")


def die_at(point: str) -> None:
    """End at once, as by `kill -9`, at the named point of the counted put."""
    if point == POINT and KilledArchive.left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


choose = store_choice.choose_archive
store_choice.choose_archive = lambda *arguments: KilledArchive(choose(*arguments))  # type: ignore[assignment]
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[scripted_agent("Joker")])
