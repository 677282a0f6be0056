"""What hosts that are killed run: an app in a folder of its own."""

from pathlib import Path

import pytest

from tests.faults.app_process import AppFolder


@pytest.fixture
def folder(tmp_path: Path) -> AppFolder:
    """A fresh copy of the app under test."""
    return AppFolder(tmp_path)
