"""Clients of a storage account go by a proxy that their environment names, and by nothing else of it."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path

import pytest

from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.names import StoreKey
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments, choose_thread_store
from tests.contracts.thread_appends import ADDRESS
from tests.support.azurite import Azurite

pytestmark = pytest.mark.slow

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names no proxy, and no host that none is for."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


async def read_each(account: str, folder: Path) -> list[object]:
    """Return what a log and the attachments have of a thread that nobody wrote to, or how each failed."""
    environ = {"AzureWebJobsStorage": account, "AGENT_LOG": "tables", "AGENT_ATTACHMENTS": "blob"}
    hub = f"test{uuid.uuid4().hex[:16]}"
    log = choose_thread_store(read_settings(environ), folder, environ, hub)
    attachments = choose_attachments(read_settings(environ), folder, environ)
    reads = log.head(ADDRESS), attachments.names(StoreKey(hub, "t"))
    found: list[object] = list(await asyncio.gather(*reads, return_exceptions=True))
    await log.close()
    await attachments.close()
    return [type(one) if isinstance(one, Exception) else one for one in found]


async def test_a_password_in_the_users_netrc_changes_no_call(
    azurite: Azurite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for every host: it would stand beside the account's key."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password secret\n", encoding="ascii")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    assert await read_each(azurite.connection_string, tmp_path) == [None, {}]


async def test_a_proxy_of_the_environment_is_asked_for_the_account(
    azurite: Azurite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", NOBODY)

    found = await read_each(azurite.connection_string, tmp_path)

    assert found == [LogUnavailableError, AttachmentsUnavailableError]
