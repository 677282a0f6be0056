"""Which run log an app gets, and where it may not be kept."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

import pytest

from hosting.errors import ConfigurationError
from hosting.runlog.blob import BlobStore
from hosting.runlog.choice import DEFAULT_PATH, choose_store
from hosting.runlog.memory import MemoryStore
from hosting.runlog.redis import RedisStore
from hosting.runlog.sqlite import SqliteStore
from hosting.runlog.sqlite_schema import RUN_LOG
from hosting.settings import read_settings

AZURE = {"WEBSITE_SITE_NAME": "agents"}
PRODUCTION = {"AZURE_FUNCTIONS_ENVIRONMENT": "Production"}
BY_STRING = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
BY_IDENTITY = {"AzureWebJobsStorage__accountName": "account", "AzureWebJobsStorage__clientId": "0000"}


@pytest.mark.parametrize(
    ("chosen", "environ", "kind"),
    [
        ("", {}, SqliteStore),
        ("memory", {}, MemoryStore),
        ("", {**PRODUCTION, **BY_STRING}, BlobStore),
        ("", {**AZURE, **BY_STRING}, BlobStore),
        ("", {**AZURE, **BY_IDENTITY}, BlobStore),
        ("blob", BY_STRING, BlobStore),
        ("blob", {"AzureWebJobsStorage__blobServiceUri": "https://account.blob.core.windows.net"}, BlobStore),
        ("redis://127.0.0.1:6379/0", {}, RedisStore),
        ("rediss://user:password@cache.example:6380", AZURE, RedisStore),
    ],
)
def test_the_setting_names_the_store(chosen: str, environ: dict[str, str], kind: type, tmp_path: Path) -> None:
    """Where it names none, what fits the place."""
    assert isinstance(choose_store(read_settings({"AGENT_RUN_LOG": chosen}), tmp_path, environ), kind)


@pytest.mark.behaviour("hosting.run-log-outlives-the-instance")
@pytest.mark.parametrize("chosen", ["memory", "sqlite", "sqlite:/disk/runs.sqlite"])
@pytest.mark.parametrize("environ", [PRODUCTION, AZURE, {**AZURE, "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}])
def test_a_run_log_that_other_instances_cannot_read_is_refused(
    chosen: str, environ: dict[str, str], tmp_path: Path
) -> None:
    """In production, and on Azure whatever its environment is called: no disk there is shared. It says what to do."""
    with pytest.raises(
        ConfigurationError, match=f"'{chosen}', which other instances cannot read.* Leave AGENT_RUN_LOG"
    ):
        choose_store(read_settings({"AGENT_RUN_LOG": chosen}), tmp_path, environ)


@pytest.mark.behaviour("hosting.run-log-outlives-the-instance")
def test_on_azure_an_account_that_is_not_set_up_is_refused(tmp_path: Path) -> None:
    """Both ways to set one up are named."""
    with pytest.raises(ConfigurationError, match=r"AzureWebJobsStorage to a connection string, or .*__accountName"):
        choose_store(read_settings({}), tmp_path, AZURE)


@pytest.mark.parametrize(
    ("chosen", "environ", "said"),
    [
        ("blob", {"AzureWebJobsStorage": "nonsense"}, "no connection string of a storage account"),
        ("redis://127.0.0.1:port", {}, "no address of a Redis server"),
    ],
)
def test_an_address_that_is_none_is_refused(chosen: str, environ: dict[str, str], said: str, tmp_path: Path) -> None:
    """At start-up, not at the first request."""
    with pytest.raises(ConfigurationError, match=said):
        choose_store(read_settings({"AGENT_RUN_LOG": chosen}), tmp_path, environ)


def test_redis_without_its_package_is_refused_by_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app does not need the package unless it is asked for."""
    monkeypatch.delitem(sys.modules, "hosting.runlog.redis")
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)

    with pytest.raises(ConfigurationError, match=r"requirements-redis\.txt"):
        choose_store(read_settings({"AGENT_RUN_LOG": "redis://127.0.0.1"}), tmp_path, {})


@pytest.mark.behaviour("hosting.run-log-of-a-newer-version")
def test_a_run_log_of_a_newer_version_is_refused_at_start_up(tmp_path: Path) -> None:
    """Not at the first request: an app that was rolled back too far does not begin to serve."""
    path = tmp_path / DEFAULT_PATH
    RUN_LOG.connect(path, "NORMAL").close()
    assert isinstance(choose_store(read_settings({}), tmp_path, {}), SqliteStore)
    with contextlib.closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version={RUN_LOG.version + 1}")

    with pytest.raises(ConfigurationError, match=f"has version {RUN_LOG.version + 1}; this app reads up to"):
        choose_store(read_settings({}), tmp_path, {})


@pytest.mark.behaviour("hosting.stores-checked-at-start")
def test_a_file_that_is_no_run_log_is_refused_also_where_no_host_runs_the_app(tmp_path: Path) -> None:
    """A test or a script makes no file, and is told of one that it could not use."""
    (tmp_path / DEFAULT_PATH).parent.mkdir()
    (tmp_path / DEFAULT_PATH).write_bytes(b"not a database" * 100)

    with pytest.raises(ConfigurationError, match="file is not a database"):
        choose_store(read_settings({}), tmp_path, {})
