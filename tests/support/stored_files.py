"""What an app has stored of uploaded files, and the clock by which they expire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from hosting.app import AgentFunctionApp
from hosting.features.uploads.feature import UploadsFeature
from hosting.names import StoreKey, store_space

_SPACES: tuple[Literal["uploads", "uploads-due"], ...] = ("uploads", "uploads-due")


def uploads_of(app: AgentFunctionApp) -> UploadsFeature:
    """Return the app's feature of files."""
    return next(feature for feature in app._served.features if isinstance(feature, UploadsFeature))


async def stored_names(app: AgentFunctionApp) -> dict[str, list[str]]:
    """Return the names of all pieces and of all that is due, by their spaces; none for an empty one."""
    stores, names = app._services.stores, dict[str, list[str]]()
    for space in _SPACES:
        hub_space = store_space(stores.hub, space)
        for _, key in await stores.attachments.put_between(hub_space, 0, 1e12):
            names.setdefault(space, []).extend(await stores.attachments.names(StoreKey(hub_space, key)))
    return names


async def made_ready(app: AgentFunctionApp, started: Mapping[str, Any]) -> None:
    """Take all steps of the jobs that were started for files, which the direct carrier does not."""
    search = uploads_of(app).search
    for given in [*started.values()]:
        text = json.dumps(given) if isinstance(given, dict) and "recipe" in given else ""
        while text:
            text = await search.step(text)


def move(monkeypatch: pytest.MonkeyPatch, app: AgentFunctionApp, ahead: timedelta) -> None:
    """Set the clock by which the app dates what it writes ahead."""
    clocks = app._services.log.clocks
    later = datetime.fromtimestamp(clocks.wall(), tz=UTC) + ahead
    monkeypatch.setattr(type(clocks), "wall", property(lambda self: later.timestamp))
