"""Blobs in the storage account that the app already has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from azure.storage.blob.aio import BlobServiceClient, ExponentialRetry

from hosting.storage.storage_account import Service, account_connection

_calls = logging.getLogger(f"{__name__}.calls")
_CONNECT_SECONDS = 3
_ANSWER_SECONDS = 5

Connect = Callable[[], AbstractAsyncContextManager[BlobServiceClient]]


def storage_account(environ: Mapping[str, str], asked_by: str = "AGENT_RUN_LOG") -> Connect:
    """Return how to connect to the account's blobs; see `account_connection` for what is refused."""
    service = Service(
        "blob",
        "blob",
        lambda text: BlobServiceClient.from_connection_string(text, **client_options()),
        lambda url, credential: BlobServiceClient(url, credential=credential, **client_options()),
    )
    return account_connection(service, environ, asked_by)


def client_options() -> dict[str, Any]:
    """Return how the client behaves: two repeats where the account is busy or the connection lost, and a quiet log.

    Whoever calls has a limit above all repeats. By itself the client writes a page of headers for each call.
    """
    _calls.setLevel(logging.WARNING)
    return {
        "logger": _calls,
        "retry_policy": ExponentialRetry(initial_backoff=1, increment_base=2, retry_total=2, random_jitter_range=1),
        "connection_timeout": _CONNECT_SECONDS,
        "read_timeout": _ANSWER_SECONDS,
    }
