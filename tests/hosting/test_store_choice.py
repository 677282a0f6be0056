"""Which stores an app gets for its log, its archive and its attachments, and where they may not be kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hosting.core.stores.archive import Archive, Volume
from hosting.core.stores.blobs import BlobObjects
from hosting.core.stores.contract import Append, StoredHead
from hosting.core.stores.cosmos import CosmosObjects
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.redis import RedisThreadStore
from hosting.core.stores.sqlite import THREADS, SqliteThreadStore
from hosting.core.stores.sqlite_objects import ARCHIVE, ATTACHMENTS, SqliteObjects
from hosting.core.stores.tables import TablesThreadStore
from hosting.errors import ConfigurationError
from hosting.names import Address, StoreKey
from hosting.settings import read_settings
from hosting.store_choice import DEFAULT_PATH, choose_archive, choose_attachments, choose_thread_store
from tests.support.redis_server import free_port

AZURE = {"WEBSITE_SITE_NAME": "agents", "WEBSITE_INSTANCE_ID": "0123"}
PRODUCTION = {"AZURE_FUNCTIONS_ENVIRONMENT": "Production"}
ON_A_LAPTOP = {"AzureWebJobsScriptRoot": "app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
BY_STRING = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
BY_IDENTITY = {"AzureWebJobsStorage__accountName": "account", "AzureWebJobsStorage__clientId": "0000"}
COSMOS = {"AGENT_ARCHIVE": "cosmos", "AGENT_COSMOS": "https://account.documents.azure.com:443/"}
COSMOS_BY_KEY = {**COSMOS, "AGENT_COSMOS": "AccountEndpoint=https://account.documents.azure.com;AccountKey=a2V5"}
NEWER = {"log": (THREADS, "log"), "archive": (ARCHIVE, "archive"), "attachments": (ATTACHMENTS, "attachments")}


def log(environ: dict[str, str], folder: Path, hub: str = "hub") -> Any:
    """Return the log of an app in the folder with these settings."""
    return choose_thread_store(read_settings(environ), folder, environ, hub)


def archive(environ: dict[str, str], folder: Path) -> Archive:
    return choose_archive(read_settings(environ), folder, environ)


def objects_of_archive(environ: dict[str, str], folder: Path) -> Any:
    return archive(environ, folder)._objects


def attachments(environ: dict[str, str], folder: Path) -> Any:
    return choose_attachments(read_settings(environ), folder, environ)


@pytest.mark.parametrize(
    ("choose", "environ", "kind"),
    [
        (log, {}, SqliteThreadStore),
        (log, {"AGENT_LOG": "memory"}, MemoryThreadStore),
        (log, {**PRODUCTION, **BY_STRING}, TablesThreadStore),
        (log, {**AZURE, **BY_IDENTITY}, TablesThreadStore),
        (log, {"AGENT_LOG": "tables", **BY_STRING}, TablesThreadStore),
        (log, {"AGENT_LOG": "tables", "AzureWebJobsStorage__tableServiceUri": "https://a.example"}, TablesThreadStore),
        (log, {"AGENT_LOG": "redis://127.0.0.1:6379/0"}, RedisThreadStore),
        (log, {"AGENT_LOG": "rediss://user:password@cache.example:6380", **AZURE}, RedisThreadStore),
        (objects_of_archive, {}, SqliteObjects),
        (objects_of_archive, {"AGENT_ARCHIVE": "memory"}, MemoryObjects),
        (objects_of_archive, {"AGENT_LOG": "memory"}, MemoryObjects),
        (objects_of_archive, {"AGENT_LOG": "memory", "AGENT_ARCHIVE": "sqlite"}, SqliteObjects),
        (objects_of_archive, {"AGENT_ARCHIVE": "blob", **BY_IDENTITY}, BlobObjects),
        (objects_of_archive, {**AZURE, **BY_IDENTITY}, BlobObjects),
        (objects_of_archive, COSMOS, CosmosObjects),
        (objects_of_archive, {**COSMOS_BY_KEY, **AZURE}, CosmosObjects),
        (attachments, {}, SqliteObjects),
        (attachments, {"AGENT_ATTACHMENTS": "memory"}, MemoryObjects),
        (attachments, {"AGENT_LOG": "memory"}, MemoryObjects),
        (attachments, {"AGENT_LOG": "memory", "AGENT_ATTACHMENTS": "sqlite"}, SqliteObjects),
        (attachments, {"AGENT_ATTACHMENTS": "blob", **BY_IDENTITY}, BlobObjects),
        (attachments, {"AGENT_LOG": "redis://here", **AZURE, **BY_IDENTITY}, BlobObjects),
    ],
)
def test_the_setting_names_the_store(
    choose: Callable[..., Any], environ: dict[str, str], kind: type, tmp_path: Path
) -> None:
    """Without it, what fits the place: all is kept as the log is, and in production in the app's account."""
    assert isinstance(choose(environ, tmp_path), kind)


@pytest.mark.behaviour("hosting.log-outlives-the-instance")
@pytest.mark.behaviour("archive.outlives-the-instance")
@pytest.mark.behaviour("erasure.attachments")
@pytest.mark.parametrize("environ", [AZURE, {**AZURE, "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}])
@pytest.mark.parametrize("named", ["memory", "sqlite", "sqlite:/disk/some.sqlite"])
@pytest.mark.parametrize(
    ("choose", "setting"), [(log, "AGENT_LOG"), (archive, "AGENT_ARCHIVE"), (attachments, "AGENT_ATTACHMENTS")]
)
def test_what_one_instance_alone_would_have_is_refused_on_azure(
    choose: Callable[..., Any], setting: str, named: str, environ: dict[str, str], tmp_path: Path
) -> None:
    """Whatever its environment is called: no disk there is shared. The sentence says what to do."""
    with pytest.raises(ConfigurationError, match=f"^{setting} is '{named}'.* Leave .* out in production"):
        choose({setting: named, **environ, **BY_IDENTITY}, tmp_path)


@pytest.mark.behaviour("hosting.log-outlives-the-instance")
@pytest.mark.parametrize(
    ("choose", "environ", "sentence"),
    [
        (log, AZURE, r"AGENT_LOG .*AzureWebJobsStorage to a connection string, or .*__acc"),
        (log, {"AGENT_LOG": "tables", "AzureWebJobsStorage": "x"}, "not a connection string of a storage account"),
        (log, {"AGENT_LOG": "redis://127.0.0.1:port"}, "AGENT_LOG is not the address of a Redis server"),
        (archive, {"AGENT_ARCHIVE": "blob"}, "AGENT_ARCHIVE is 'blob', and no storage account is set up"),
        (archive, {"AGENT_ARCHIVE": "cosmos"}, "AGENT_COSMOS is not an account of Cosmos DB"),
        (archive, {**COSMOS, "AGENT_COSMOS": "AccountEndpoint=https://a;Key=a"}, "AGENT_COSMOS is not an account"),
        (attachments, {"AGENT_ATTACHMENTS": "blob"}, "AGENT_ATTACHMENTS is 'blob', and no storage account is set up"),
    ],
)
def test_an_account_or_a_server_that_nothing_names_is_refused(
    choose: Callable[..., Any], environ: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        choose(environ, tmp_path)


@pytest.mark.parametrize(
    ("choose", "environ", "package", "sentence"),
    [
        (log, {"AGENT_LOG": "redis://127.0.0.1"}, "redis", "AGENT_LOG names a Redis server"),
        (archive, COSMOS, "cosmos", "AGENT_ARCHIVE is 'cosmos'"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_line_that_brings_it(
    choose: Callable[..., Any],
    environ: dict[str, str],
    package: str,
    sentence: str,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The app does not need the package unless it is asked for."""
    monkeypatch.delitem(sys.modules, f"hosting.core.stores.{package}")
    monkeypatch.setitem(sys.modules, {"redis": "redis.asyncio", "cosmos": "azure.cosmos.aio"}[package], None)

    with pytest.raises(ConfigurationError, match=f"{sentence}.*the line of requirements-{package}.txt"):
        choose(environ, tmp_path)


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(("chosen", "path"), [("", DEFAULT_PATH), ("sqlite:mine/log.db", Path("mine") / "log.db")])
async def test_a_log_is_below_the_apps_folder_and_two_hubs_in_it_share_nothing(
    chosen: str, path: Path, tmp_path: Path
) -> None:
    """One file for several apps is one file, and no shared threads."""
    one, other = [log({"AGENT_LOG": chosen}, tmp_path, hub) for hub in ("one", "other")]
    address = Address("joker", "thread")

    await one.append(address, None, Append(StoredHead(1, "id", b""), (b"event",)))

    assert (tmp_path / path).is_file()
    assert await one.head(address) is not None
    assert await other.head(address) is None
    await one.close()
    await other.close()


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        ({}, ".agents/{}.sqlite"),
        ({"AGENT_LOG": "sqlite:logs/log.sqlite"}, "logs/{}.sqlite"),
        (
            {"AGENT_ARCHIVE": "sqlite:k/archive.sqlite", "AGENT_ATTACHMENTS": "sqlite:k/attachments.sqlite"},
            "k/{}.sqlite",
        ),
    ],
)
async def test_the_other_files_stand_beside_the_log_unless_they_are_named(
    environ: dict[str, str], file: str, tmp_path: Path
) -> None:
    volumes, objects = archive(environ, tmp_path), attachments(environ, tmp_path)
    paths = [tmp_path / file.format(name) for name in ("archive", "attachments")]
    assert not any(path.exists() for path in paths)

    await volumes.put(Volume(StoreKey("joker", "t"), 0), 1, ["{}"])
    await objects.put(StoreKey("joker", "t"), {"0" * 64: b"bytes"})
    await volumes.close()
    await objects.close()

    assert all(path.exists() for path in paths)


@pytest.mark.behaviour("hosting.stores-checked-at-start")
def test_on_a_developers_machine_a_server_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """By its address, without what is secret in it; in production it may come back, and the app waits for it."""
    url = f"redis://user:password@127.0.0.1:{free_port()}"

    with pytest.raises(
        ConfigurationError, match=r"AGENT_LOG is redis://127\.0\.0\.1:\d+, which cannot be used: .* leave"
    ):
        log({"AGENT_LOG": url, **ON_A_LAPTOP}, tmp_path)
    assert isinstance(log({"AGENT_LOG": url, **AZURE}, tmp_path), RedisThreadStore)


@pytest.mark.behaviour("hosting.stores-checked-at-start")
def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / DEFAULT_PATH).parent.mkdir()
    (tmp_path / DEFAULT_PATH).write_bytes(b"not a database" * 100)

    with pytest.raises(ConfigurationError, match=r"The threads' log .*log\.sqlite cannot be opened: .* Set AGENT_LOG"):
        log({}, tmp_path)


@pytest.mark.behaviour("hosting.log-of-a-newer-version")
@pytest.mark.parametrize("kept", NEWER)
def test_a_file_of_a_newer_version_is_refused_at_start_up(kept: str, tmp_path: Path) -> None:
    """An app that was rolled back too far does not begin to serve; the sentence names the setting."""
    schema, name = NEWER[kept]
    choose = {"log": log, "archive": archive, "attachments": attachments}[kept]
    environ = {f"AGENT_{kept.upper()}": f"sqlite:{name}.sqlite"}
    connection = schema.connect(tmp_path / f"{name}.sqlite", "NORMAL")
    assert choose(environ, tmp_path)
    connection.execute(f"PRAGMA user_version={schema.version + 1}")
    connection.close()

    with pytest.raises(ConfigurationError, match=f"has version {schema.version + 1}; .*AGENT_{kept.upper()}"):
        choose(environ, tmp_path)
