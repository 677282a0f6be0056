"""All that the stores of an app in a storm hold, read past the app, and what of it should not be there any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import redis
from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from tests.faults.storm import Stormed

_FILES = {"log.sqlite", "archive.sqlite", "attachments.sqlite"}
_LOCKS = "log.sqlite-processes"
_ENGINE = "durable.db"


def left_over(stormed: Stormed, folder: Path, environ: Mapping[str, str], hub: str) -> list[str]:
    """Say which files no store knows, and what holds words of a thread that was deleted.

    The words of threads that are there must be found, or what was looked into is not where the app keeps them.
    """
    known = {f"{name}{end}" for name in _FILES for end in ("", "-wal", "-shm")} | {_LOCKS}
    files = [path for path in (folder / ".agents").rglob("*") if path.is_file()]
    wrong = [f"left over: {path}" for path in files if path.name not in known]
    deleted = {turn.name.encode(): turn for thread in stormed.threads for turn in thread.deleted}
    unseen = {turn.name.encode() for thread in stormed.threads for turn in thread.turns if turn.is_success}
    for place, text in kept(folder, environ, hub):
        wrong += [f"{place} holds what was deleted: {turn}" for word, turn in deleted.items() if word in text]
        if not place.startswith(_ENGINE):
            unseen = {word for word in unseen if word not in text}
    return wrong + [f"not found where threads are kept: {word.decode()}" for word in unseen]


def kept(folder: Path, environ: Mapping[str, str], hub: str) -> Iterator[tuple[str, bytes]]:
    """Yield the places where the app's stores and its engine keep anything, and what is there."""
    for path in (*(folder / ".agents").rglob("*"), *folder.rglob(f"{_ENGINE}*")):
        if path.is_file():
            yield path.name, path.read_bytes()
    if environ["AGENT_LOG"] == "tables":
        yield from _in_account(environ["AzureWebJobsStorage"], hub)
    if environ["AGENT_LOG"].startswith("redis"):
        with redis.Redis.from_url(environ["AGENT_LOG"]) as client:
            for key in client.scan_iter(match=f"{{{hub}*"):
                yield key.decode(), _of_key(client, key)


def _in_account(connection_string: str, hub: str) -> Iterator[tuple[str, bytes]]:
    with TableServiceClient.from_connection_string(connection_string) as tables:
        for table in tables.list_tables():
            for entity in tables.get_table_client(table.name).list_entities() if table.name.startswith(hub) else ():
                texts = [value if isinstance(value, bytes) else str(value).encode() for value in entity.values()]
                yield f"{table.name} {entity['RowKey']}", b"".join(texts)
    with BlobServiceClient.from_connection_string(connection_string) as blobs:
        for container in blobs.list_containers():
            client = blobs.get_container_client(container.name)
            for blob in client.list_blobs(name_starts_with=hub):
                with suppress(ResourceNotFoundError):  # removed since it was listed
                    yield f"{container.name} {blob.name}", client.download_blob(blob.name).readall()


def _of_key(client: Any, key: bytes) -> bytes:
    read = {
        b"hash": lambda: client.hgetall(key),
        b"stream": lambda: client.xrange(key),
        b"zset": lambda: client.zrange(key, 0, -1),
    }
    return repr(read[client.type(key)]()).encode()
