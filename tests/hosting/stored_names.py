"""What stands in each store, by name: everything that holds bytes, for the page of the inventory and for canaries."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import redis
from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

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
                + "".join((blob.metadata or {}).values()).encode()
                for blob in blobs
            }


@dataclass(frozen=True)
class Table:
    """The entities of one table, by their row keys: the threads of one test are one partition."""

    connection_string: str
    name: str

    def read(self) -> Stored:
        """Return each entity with its values; nothing while there is no table."""
        with TableServiceClient.from_connection_string(self.connection_string) as service:
            try:
                entities = list(service.get_table_client(self.name).list_entities())
            except ResourceNotFoundError:
                return {}
        return {entity["RowKey"]: b"".join(map(_bytes, entity.values())) for entity in entities}


@dataclass(frozen=True)
class Redis:
    """The keys of one server that begin with this."""

    url: str
    prefix: str

    def read(self) -> Stored:
        """Return each key of ours with its value."""
        with redis.Redis.from_url(self.url) as client:
            return {key.decode(): _value(client, key) for key in client.scan_iter(f"{self.prefix}*")}


def _value(client: redis.Redis, key: bytes) -> bytes:
    readers = {
        b"hash": lambda: [part for field in client.hgetall(key).items() for part in field],
        b"stream": lambda: [fields[b"payload"] for _, fields in client.xrange(key)],
        b"zset": lambda: client.zrange(key, 0, -1),
    }
    return b"".join(readers[client.type(key)]())


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
