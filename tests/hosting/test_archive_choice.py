"""Which archive an app gets, and where it may not be kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hosting.core.stores.archive import Archive, Volume
from hosting.core.stores.blobs import BlobObjects
from hosting.core.stores.cosmos import CosmosObjects
from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.sqlite_objects import ARCHIVE, SqliteObjects
from hosting.errors import ConfigurationError
from hosting.names import StoreKey
from hosting.settings import read_settings
from hosting.store_choice import choose_archive

AZURE = {"WEBSITE_INSTANCE_ID": "0123"}
ACCOUNT = {"AzureWebJobsStorage__accountName": "account"}
COSMOS = {"AGENT_ARCHIVE": "cosmos", "AGENT_COSMOS": "https://account.documents.azure.com:443/"}
BY_KEY = {
    "AGENT_ARCHIVE": "cosmos",
    "AGENT_COSMOS": "AccountEndpoint=https://account.documents.azure.com;AccountKey=a2V5",
}


def chosen(environ: dict[str, str], folder: Path) -> Archive:
    """Return the archive of an app in the folder with these settings."""
    return choose_archive(read_settings(environ), folder, environ)


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({}, SqliteObjects),
        ({"AGENT_ARCHIVE": "sqlite"}, SqliteObjects),
        ({"AGENT_ARCHIVE": "memory"}, MemoryObjects),
        ({"AGENT_LOG": "memory"}, MemoryObjects),
        ({"AGENT_LOG": "memory", "AGENT_ARCHIVE": "sqlite"}, SqliteObjects),
        ({"AGENT_ARCHIVE": "blob", **ACCOUNT}, BlobObjects),
        ({**AZURE, **ACCOUNT}, BlobObjects),
        (COSMOS, CosmosObjects),
        ({**BY_KEY, **AZURE}, CosmosObjects),
    ],
)
def test_the_setting_names_the_archive(environ: dict[str, str], kind: type, tmp_path: Path) -> None:
    """Without it the archive is kept as the log is, and in production in blobs."""
    assert isinstance(chosen(environ, tmp_path)._objects, kind)


@pytest.mark.behaviour("archive.outlives-the-instance")
@pytest.mark.parametrize("named", ["memory", "sqlite", "sqlite:/disk/archive.sqlite"])
def test_what_one_instance_alone_would_have_is_refused_on_azure(named: str, tmp_path: Path) -> None:
    """The sentence says what to set."""
    with pytest.raises(ConfigurationError, match="Leave AGENT_ARCHIVE out in production"):
        chosen({"AGENT_ARCHIVE": named, **AZURE, **ACCOUNT}, tmp_path)


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"AGENT_ARCHIVE": "blob"}, "AGENT_ARCHIVE is 'blob', and no storage account is set up"),
        ({"AGENT_ARCHIVE": "cosmos"}, "AGENT_COSMOS is not an account of Cosmos DB"),
        (
            {**COSMOS, "AGENT_COSMOS": "AccountEndpoint=https://account;Key=a"},
            "AGENT_COSMOS is not an account of Cosmos DB",
        ),
    ],
)
def test_an_account_that_nothing_names_is_refused(environ: dict[str, str], text: str, tmp_path: Path) -> None:
    """At start-up, not at the first long thread."""
    with pytest.raises(ConfigurationError, match=text):
        chosen(environ, tmp_path)


def test_cosmos_without_its_package_is_refused_by_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app does not need the package unless it is asked for."""
    monkeypatch.delitem(sys.modules, "hosting.core.stores.cosmos")
    monkeypatch.setitem(sys.modules, "azure.cosmos.aio", None)

    with pytest.raises(ConfigurationError, match="AGENT_ARCHIVE is 'cosmos'") as refused:
        chosen(COSMOS, tmp_path)
    assert "the line of requirements-cosmos.txt" in refused.value.detail


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        ({}, ".agents/archive.sqlite"),
        ({"AGENT_LOG": "sqlite:logs/log.sqlite"}, "logs/archive.sqlite"),
        ({"AGENT_ARCHIVE": "sqlite:kept/long.sqlite"}, "kept/long.sqlite"),
    ],
)
async def test_the_file_stands_beside_the_log_unless_it_is_named(
    environ: dict[str, str], file: str, tmp_path: Path
) -> None:
    """It is made by the first entry."""
    archive = chosen(environ, tmp_path)
    assert not (tmp_path / file).exists()

    await archive.put(Volume(StoreKey("joker", "t"), 0), 1, ["{}"])
    await archive.close()

    assert (tmp_path / file).exists()


def test_an_archive_of_a_newer_version_is_refused_at_start_up(tmp_path: Path) -> None:
    """The sentence names the setting."""
    connection = ARCHIVE.connect(tmp_path / "archive.sqlite", "NORMAL")
    connection.execute(f"PRAGMA user_version={ARCHIVE.version + 1}")
    connection.close()

    with pytest.raises(ConfigurationError, match=r"The archive .* set AGENT_ARCHIVE to another file"):
        chosen({"AGENT_ARCHIVE": "sqlite:archive.sqlite"}, tmp_path)
