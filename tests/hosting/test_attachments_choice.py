"""Which store of attachments an app gets, and where they may not be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting.core.stores.blobs import BlobObjects
from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.errors import ConfigurationError
from hosting.names import StoreKey
from hosting.ports import ObjectStore
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments

AZURE = {"WEBSITE_INSTANCE_ID": "0123"}
ACCOUNT = {"AzureWebJobsStorage__accountName": "account"}


def chosen(environ: dict[str, str], folder: Path) -> ObjectStore:
    """Return the store of an app in the folder with these settings."""
    return choose_attachments(read_settings(environ), folder, environ)


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({}, SqliteObjects),
        ({"AGENT_ATTACHMENTS": "memory"}, MemoryObjects),
        ({"AGENT_LOG": "memory"}, MemoryObjects),
        ({"AGENT_LOG": "memory", "AGENT_ATTACHMENTS": "sqlite"}, SqliteObjects),
        ({"AGENT_ATTACHMENTS": "blob", **ACCOUNT}, BlobObjects),
        ({"AGENT_LOG": "redis://here", **AZURE, **ACCOUNT}, BlobObjects),
    ],
)
def test_the_setting_names_the_store(environ: dict[str, str], kind: type, tmp_path: Path) -> None:
    """Without it attachments are kept as the log is, and in production in blobs."""
    assert isinstance(chosen(environ, tmp_path), kind)


@pytest.mark.behaviour("erasure.attachments")
@pytest.mark.parametrize("named", ["memory", "sqlite", "sqlite:/disk/attachments.sqlite"])
def test_what_one_instance_alone_would_have_is_refused_on_azure(named: str, tmp_path: Path) -> None:
    """The sentence says what to set."""
    with pytest.raises(ConfigurationError, match="Leave it out in production"):
        chosen({"AGENT_ATTACHMENTS": named, **AZURE, **ACCOUNT}, tmp_path)


def test_an_account_that_nothing_names_is_refused(tmp_path: Path) -> None:
    """At start-up, not at the first picture."""
    with pytest.raises(ConfigurationError, match="AGENT_ATTACHMENTS is 'blob', and no storage account is set up"):
        chosen({"AGENT_ATTACHMENTS": "blob"}, tmp_path)


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        ({}, ".agents/attachments.sqlite"),
        ({"AGENT_LOG": "sqlite:logs/log.sqlite"}, "logs/attachments.sqlite"),
        ({"AGENT_ATTACHMENTS": "sqlite:kept/files.sqlite"}, "kept/files.sqlite"),
    ],
)
async def test_the_file_stands_beside_the_log_unless_it_is_named(
    environ: dict[str, str], file: str, tmp_path: Path
) -> None:
    """It is made by the first attachment."""
    store = chosen(environ, tmp_path)
    assert not (tmp_path / file).exists()

    await store.put(StoreKey("joker", "t"), {"0" * 64: b"bytes"})
    await store.close()

    assert (tmp_path / file).exists()


def test_a_file_of_a_newer_version_is_refused_at_start_up(tmp_path: Path) -> None:
    """The sentence names the setting."""
    connection = ATTACHMENTS.connect(tmp_path / "attachments.sqlite", "NORMAL")
    connection.execute(f"PRAGMA user_version={ATTACHMENTS.version + 1}")
    connection.close()

    with pytest.raises(ConfigurationError, match="set AGENT_ATTACHMENTS to another file"):
        chosen({"AGENT_ATTACHMENTS": "sqlite:attachments.sqlite"}, tmp_path)
