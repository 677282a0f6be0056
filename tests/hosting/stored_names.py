"""What stands in each store, by name: everything that holds bytes, for the page of the inventory and for canaries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import redis
from azure.storage.blob import BlobServiceClient

from hosting.runlog.blob_names import unpack
from hosting.runlog.redis import PREFIX

Stored = dict[str, bytes]
"""Everything that stands under a name, as one string of bytes, compressed values as what they were."""


@dataclass(frozen=True)
class SqliteFile:
    """The tables of one file."""

    path: Path

    def read(self) -> Stored:
        """Return each table that has a row, with its values."""
        with closing(sqlite3.connect(self.path)) as connection:
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}
        return {name: b"".join(map(_bytes, sum(found, ()))) for name, found in rows.items() if found}


@dataclass(frozen=True)
class Container:
    """The blobs of one container."""

    connection_string: str
    name: str

    def read(self) -> Stored:
        """Return each blob with its body and metadata."""
        with BlobServiceClient.from_connection_string(self.connection_string) as service:
            container = service.get_container_client(self.name)
            blobs = list(container.list_blobs(include=["metadata"])) if container.exists() else []
            return {
                blob.name: (container.download_blob(blob.name).readall() if blob.size else b"")
                + b"".join(_metadata(blob.metadata or {}))
                for blob in blobs
            }


@dataclass(frozen=True)
class Redis:
    """The keys of one server."""

    url: str

    def read(self) -> Stored:
        """Return each key of ours with its value."""
        with redis.Redis.from_url(self.url) as client:
            return {key.decode(): _value(client, key) for key in client.scan_iter(f"{PREFIX}*")}


def _metadata(metadata: dict[str, str]) -> Iterator[bytes]:
    for name, value in metadata.items():
        yield unpack(value).model_dump_json().encode() if name == "accepted" else value.encode()


def _value(client: redis.Redis, key: bytes) -> bytes:
    readers = {
        b"string": lambda: [client.get(key)],
        b"stream": lambda: [fields[b"body"] for _, fields in client.xrange(key)],
        b"zset": lambda: client.zrange(key, 0, -1),
        b"set": lambda: client.smembers(key),
    }
    return b"".join(readers[client.type(key)]())


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
