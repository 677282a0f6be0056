"""One engine and one worker over each kind of stores for all tests that kill none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosting.console.console import Console, task_hub
from tests.hosting.console.orchestrators import console_worker
from tests.support.kept_in import HUB, KINDS, settings_of

KEPT_IN = [pytest.param(kind, marks=() if kind == "sqlite" else pytest.mark.slow) for kind in KINDS]
"""Those that need a server are not for the fast tests."""


@pytest.fixture(scope="package", params=KEPT_IN)
def console(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The engine and its worker."""
    options = _options(request, tmp_path_factory.mktemp("console"))
    with task_hub() as address, console_worker(address, **options):
        yield Console(address, options)


@pytest.fixture(params=KEPT_IN)
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What a worker and its clients are given, for a test that makes its own."""
    return _options(request, tmp_path)


def _options(request: pytest.FixtureRequest, folder: Path) -> dict[str, Any]:
    settings = settings_of(request.param, request)
    return {"environ": settings, "folder": folder, "hub": settings[HUB]}
