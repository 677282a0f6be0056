"""What hosts that are killed run: an app in a folder of its own, and where it keeps its threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.app_process import AppFolder
from tests.support.kept_in import settings_of


@pytest.fixture
def stores(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of the kind of stores that a test names as its parameter, files where it names none."""
    return settings_of(getattr(request, "param", "sqlite"), request)


@pytest.fixture
def folder(tmp_path: Path, stores: dict[str, str]) -> AppFolder:
    """A fresh copy of the app under test."""
    return AppFolder(tmp_path, stores)
