"""Which run log an app gets, and where it may not be kept."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from hosting.errors import ConfigurationError
from hosting.runlog.choice import DEFAULT_PATH, choose_store
from hosting.runlog.memory import MemoryStore
from hosting.runlog.sqlite import SqliteStore
from hosting.runlog.sqlite_file import SCHEMA_VERSION, connect
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


@pytest.mark.behaviour("hosting.run-log-of-a-newer-version")
def test_a_run_log_of_a_newer_version_is_refused_at_start_up(tmp_path: Path) -> None:
    """Not at the first request: an app that was rolled back too far does not begin to serve."""
    path = tmp_path / DEFAULT_PATH
    connect(path, "NORMAL").close()
    assert isinstance(choose_store(read_settings({}), tmp_path, {}), SqliteStore)
    with contextlib.closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")

    with pytest.raises(ConfigurationError, match=f"has version {SCHEMA_VERSION + 1}; this app reads up to"):
        choose_store(read_settings({}), tmp_path, {})


def test_a_run_log_that_cannot_be_read_yet_stops_no_start_up(tmp_path: Path) -> None:
    """It is an outage, which requests report until it is over."""
    (tmp_path / DEFAULT_PATH).parent.mkdir()
    (tmp_path / DEFAULT_PATH).write_bytes(b"not a database" * 100)

    assert isinstance(choose_store(read_settings({}), tmp_path, {}), SqliteStore)
