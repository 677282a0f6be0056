"""Which store of threads' logs an app gets, and where it may not be."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

import pytest

from hosting.core.stores.contract import Append, StoredHead, ThreadStore
from hosting.core.stores.memory import MemoryThreadStore
from hosting.core.stores.redis import RedisThreadStore
from hosting.core.stores.sqlite import THREADS, SqliteThreadStore
from hosting.core.stores.tables import TablesThreadStore
from hosting.errors import ConfigurationError
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import DEFAULT_PATH, choose_thread_store
from tests.support.redis_server import free_port

AZURE = {"WEBSITE_SITE_NAME": "agents"}
PRODUCTION = {"AZURE_FUNCTIONS_ENVIRONMENT": "Production"}
ON_A_LAPTOP = {"AzureWebJobsScriptRoot": "app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
BY_STRING = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
BY_IDENTITY = {"AzureWebJobsStorage__accountName": "account", "AzureWebJobsStorage__clientId": "0000"}
ADDRESS = Address("joker", "thread")


def choose(chosen: str, folder: Path, environ: dict[str, str] | None = None, hub: str = "hub") -> ThreadStore:
    return choose_thread_store(read_settings({"AGENT_LOG": chosen}), folder, environ or {}, hub)


@pytest.mark.parametrize(
    ("chosen", "environ", "kind"),
    [
        ("", {}, SqliteThreadStore),
        ("memory", {}, MemoryThreadStore),
        ("", {**PRODUCTION, **BY_STRING}, TablesThreadStore),
        ("", {**AZURE, **BY_STRING}, TablesThreadStore),
        ("", {**AZURE, **BY_IDENTITY}, TablesThreadStore),
        ("tables", BY_STRING, TablesThreadStore),
        ("tables", {"AzureWebJobsStorage__tableServiceUri": "https://a.table.core.windows.net"}, TablesThreadStore),
        ("redis://127.0.0.1:6379/0", {}, RedisThreadStore),
        ("rediss://user:password@cache.example:6380", AZURE, RedisThreadStore),
    ],
)
def test_the_setting_names_the_store(chosen: str, environ: dict[str, str], kind: type, tmp_path: Path) -> None:
    """Where it names none, what fits the place."""
    assert isinstance(choose(chosen, tmp_path, environ), kind)


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(("chosen", "path"), [("", DEFAULT_PATH), ("sqlite:mine/log.db", Path("mine") / "log.db")])
async def test_a_file_is_below_the_apps_folder_and_two_hubs_in_it_share_nothing(
    chosen: str, path: Path, tmp_path: Path
) -> None:
    """One file for several apps is one file, and no shared threads."""
    one, other = choose(chosen, tmp_path, hub="one"), choose(chosen, tmp_path, hub="other")

    await one.append(ADDRESS, None, Append(StoredHead(1, "id", b""), (b"event",)))

    assert (tmp_path / path).is_file()
    assert await one.head(ADDRESS) is not None
    assert await other.head(ADDRESS) is None
    await one.close()
    await other.close()


@pytest.mark.behaviour("hosting.log-outlives-the-instance")
@pytest.mark.parametrize("chosen", ["memory", "sqlite", "sqlite:/disk/log.sqlite"])
@pytest.mark.parametrize("environ", [PRODUCTION, AZURE, {**AZURE, "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}])
def test_a_log_that_other_instances_cannot_read_is_refused(
    chosen: str, environ: dict[str, str], tmp_path: Path
) -> None:
    """In production, and on Azure whatever its environment is called: no disk there is shared. It says what to do."""
    with pytest.raises(ConfigurationError, match=f"'{chosen}', which other instances cannot read.* Leave AGENT_LOG"):
        choose(chosen, tmp_path, environ)


@pytest.mark.behaviour("hosting.log-outlives-the-instance")
def test_on_azure_an_account_that_is_not_set_up_is_refused(tmp_path: Path) -> None:
    """Both ways to set one up are named."""
    with pytest.raises(ConfigurationError, match=r"AGENT_LOG .*AzureWebJobsStorage to a connection string, or .*__acc"):
        choose("", tmp_path, AZURE)


@pytest.mark.parametrize(
    ("chosen", "environ", "text"),
    [
        ("tables", {"AzureWebJobsStorage": "nonsense"}, "not a connection string of a storage account"),
        ("redis://127.0.0.1:port", {}, "AGENT_LOG is not the address of a Redis server"),
    ],
)
def test_an_address_that_is_none_is_refused(chosen: str, environ: dict[str, str], text: str, tmp_path: Path) -> None:
    """At start-up, not at the first request."""
    with pytest.raises(ConfigurationError, match=text):
        choose(chosen, tmp_path, environ)


@pytest.mark.behaviour("hosting.settings-refused")
@pytest.mark.parametrize("chosen", ["blob", "sqlite:", "redis://", "http://127.0.0.1", "Tables"])
def test_a_place_that_is_none_is_refused_with_those_that_are(chosen: str, tmp_path: Path) -> None:
    """'blob' is none of them: archives have it."""
    with pytest.raises(ConfigurationError, match=r"Setting AGENT_LOG is .*'tables' \(the app's storage account"):
        choose(chosen, tmp_path)


def test_redis_without_its_package_is_refused_by_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app does not need the package unless it is asked for."""
    monkeypatch.delitem(sys.modules, "hosting.core.stores.redis")
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)

    with pytest.raises(ConfigurationError, match="AGENT_LOG names a Redis server") as refused:
        choose("redis://127.0.0.1", tmp_path)
    assert "the line of requirements-redis.txt" in refused.value.detail


@pytest.mark.behaviour("hosting.stores-checked-at-start")
def test_on_a_developers_machine_a_server_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """By its address, without what is secret in it; in production it may come back, and the app waits for it."""
    url = f"redis://user:password@127.0.0.1:{free_port()}"

    with pytest.raises(
        ConfigurationError, match=r"AGENT_LOG is redis://127\.0\.0\.1:\d+, which cannot be used: .* leave"
    ):
        choose(url, tmp_path, ON_A_LAPTOP)
    assert isinstance(choose(url, tmp_path, AZURE), RedisThreadStore)


@pytest.mark.behaviour("hosting.stores-checked-at-start")
def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    """At start-up, by its path and the setting that names another."""
    (tmp_path / DEFAULT_PATH).parent.mkdir()
    (tmp_path / DEFAULT_PATH).write_bytes(b"not a database" * 100)

    with pytest.raises(ConfigurationError, match=r"The threads' log .*log\.sqlite cannot be opened: .* Set AGENT_LOG"):
        choose("", tmp_path)


@pytest.mark.behaviour("hosting.log-of-a-newer-version")
def test_a_log_of_a_newer_version_is_refused_at_start_up(tmp_path: Path) -> None:
    """Not at the first request: an app that was rolled back too far does not begin to serve."""
    path = tmp_path / DEFAULT_PATH
    THREADS.connect(path, "NORMAL").close()
    assert isinstance(choose("", tmp_path), SqliteThreadStore)
    with contextlib.closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version={THREADS.version + 1}")

    with pytest.raises(ConfigurationError, match=f"has version {THREADS.version + 1}; this app reads up to"):
        choose("", tmp_path)
