"""Which run log an app gets, and where it may not be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting.errors import ConfigurationError
from hosting.runlog.choice import choose_store
from hosting.runlog.memory import MemoryStore
from hosting.runlog.sqlite import SqliteStore
from hosting.settings import read_settings

AZURE = {"WEBSITE_INSTANCE_ID": "0123"}


@pytest.mark.parametrize(
    ("chosen", "environ", "kind"),
    [("", {}, SqliteStore), ("memory", AZURE, MemoryStore), ("sqlite:/disk/runs.sqlite", AZURE, SqliteStore)],
)
def test_the_setting_names_the_store(chosen: str, environ: dict[str, str], kind: type, tmp_path: Path) -> None:
    """A path named on purpose is taken anywhere."""
    assert isinstance(choose_store(read_settings({"AGENT_RUN_LOG": chosen}), tmp_path, environ), kind)


@pytest.mark.behaviour("hosting.run-log-outlives-the-instance")
def test_a_file_that_would_end_with_the_instance_is_refused_on_azure(tmp_path: Path) -> None:
    """The sentence says what to set."""
    with pytest.raises(ConfigurationError, match="sqlite:PATH"):
        choose_store(read_settings({}), tmp_path, AZURE)
