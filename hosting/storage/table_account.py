"""Tables in the storage account that the app already has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from azure.data.tables.aio import TableServiceClient

from hosting.storage.storage_account import Service, account_connection

CALL_SECONDS = 3

_calls = logging.getLogger(f"{__name__}.calls")

ConnectTables = Callable[[], AbstractAsyncContextManager[TableServiceClient]]


def table_account(environ: Mapping[str, str], asked_by: str) -> ConnectTables:
    """Return how to connect to the account's tables; see `account_connection` for what is refused."""
    service = Service(
        "table",
        "tables",
        lambda text: TableServiceClient.from_connection_string(text, **_client_options()),
        lambda url, credential: TableServiceClient(url, credential=credential, **_client_options()),
    )
    return account_connection(service, environ, asked_by)


def _client_options() -> dict[str, Any]:
    """Return how the client behaves: each call once, for 3 s at most, and a quiet log.

    By itself it repeats for minutes what was not answered, an insert that counted too, and writes a page of headers for
    each call.
    """
    _calls.setLevel(logging.WARNING)
    never = dict.fromkeys(("retry_total", "retry_connect", "retry_read", "retry_status"), 0)
    return {"logger": _calls, "connection_timeout": CALL_SECONDS, "read_timeout": CALL_SECONDS, **never}
