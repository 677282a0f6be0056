"""The stores of an app's threads, next to their entities, as the settings name them.

Clients of services are imported where they are chosen: they take longer to load than a start on one machine may,
and their packages need not be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hosting.core.stores.archive import Archive
from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.sqlite import THREADS, SqliteThreadStore
from hosting.core.stores.sqlite_file import FileKind
from hosting.core.stores.sqlite_objects import ARCHIVE, ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.stores.stores import Stores
from hosting.errors import (
    ArchiveUnavailableError,
    AttachmentsUnavailableError,
    ConfigurationError,
    StoreUnavailableError,
)
from hosting.ports import ObjectStore
from hosting.settings import Settings, is_hosted, needs_shared_stores

DEFAULT_PATH = Path(".agents") / "log.sqlite"


class StoreSetting(Struct, frozen=True):
    """The setting of one store: its field in `Settings` and its name, its default in production, and why
    and how not to use a file or the memory of one instance there."""

    field: str
    name: str
    shared: str
    advice: str

    def chosen(self, settings: Settings, environ: Mapping[str, str]) -> str:
        """Return the setting's value; where it is not set, `shared` in production, and 'memory' where the log is there.

        Raises `ConfigurationError` for a file or memory in production.
        """
        must_be_shared = needs_shared_stores(environ)
        chosen: str = getattr(settings, self.field)
        if self.field not in settings.model_fields_set:
            chosen = self.shared if must_be_shared else "memory" if settings.log == "memory" else chosen
        if must_be_shared and chosen.startswith(("memory", "sqlite")):
            raise ConfigurationError(f"{self.name} is {chosen!r}, which other instances cannot read{self.advice}")
        return chosen


class ObjectsSetting(StoreSetting, frozen=True):
    """The setting of a store of objects: the file that 'sqlite' means, next to that of the log, and its kind; its
    container of blobs, and its error when away."""

    file_name: str
    kind: FileKind
    container: str
    unavailable: type[StoreUnavailableError]

    def store(self, chosen: str, settings: Settings, folder: Path, environ: Mapping[str, str]) -> ObjectStore:
        """Return the store for 'memory', 'blob' and 'sqlite'. Raises `ConfigurationError` for an unusable one."""
        if chosen == "memory":
            return MemoryObjects()
        if chosen == "blob":
            from hosting.core.stores.blobs import BlobObjects, blob_account

            return BlobObjects(blob_account(environ, self.name), self.container, self.unavailable)
        file = chosen.partition(":")[2]
        path = folder / file if file else log_path(settings.log, folder).with_name(self.file_name)
        self.kind.refuse_unusable(path, settings.log_synchronous, environ)
        return SqliteObjects(StoreFile(self.kind, path, self.unavailable, settings.log_synchronous))


LOG_SETTING = StoreSetting(
    field="log",
    name="AGENT_LOG",
    shared="tables",
    advice=", and threads belong to all of them. Leave AGENT_LOG out in production, which keeps the log in the app's "
    "storage account, or name a Redis server.",
)
ARCHIVE_SETTING = ObjectsSetting(
    field="archive",
    name="AGENT_ARCHIVE",
    shared="blob",
    file_name="archive.sqlite",
    advice=". Leave AGENT_ARCHIVE out in production, which keeps archives in the app's storage account, or set it to "
    "'cosmos'.",
    kind=ARCHIVE,
    container="agent-archive",
    unavailable=ArchiveUnavailableError,
)
ATTACHMENTS_SETTING = ObjectsSetting(
    field="attachments",
    name="AGENT_ATTACHMENTS",
    shared="blob",
    file_name="attachments.sqlite",
    advice=". Leave it out in production, which keeps attachments in the app's storage account.",
    kind=ATTACHMENTS,
    container="agent-attachments",
    unavailable=AttachmentsUnavailableError,
)


def log_path(chosen: str, folder: Path) -> Path:
    """Return the file of a log in SQLite, where it is or would be."""
    kind, _, path = chosen.partition(":")
    return folder / (path if kind == "sqlite" and path else DEFAULT_PATH)


def choose_thread_store(settings: Settings, folder: Path, environ: Mapping[str, str], hub: str) -> ThreadStore:
    """Return the store that `AGENT_LOG` names; where it names none, a file, and in production the account's tables.

    It is opened under the task hub's name (`task_hub`). Relative paths are below `folder`, the app's root. Refusals are
    `ConfigurationError`: memory and files in production, a file that cannot be used, an account that no setting names,
    a package that is not installed, and on a developer's machine a server that is not there. In production a server may
    come back at any moment, and an instance that starts meanwhile must then be there.
    """
    chosen = LOG_SETTING.chosen(settings, environ)
    if chosen == "memory":
        return MemoryThreadStore(hub)
    if chosen == "tables":
        from hosting.core.stores.storage_account import table_account
        from hosting.core.stores.tables import TablesThreadStore

        return TablesThreadStore(table_account(environ, LOG_SETTING.name), hub)
    if not chosen.startswith(("redis://", "rediss://")):
        path = log_path(chosen, folder)
        THREADS.refuse_unusable(path, settings.log_synchronous, environ)
        return SqliteThreadStore(path, hub, settings.log_synchronous)
    try:
        from hosting.core.stores.redis import RedisThreadStore, refuse_unreached
    except ModuleNotFoundError:
        raise ConfigurationError(
            "AGENT_LOG names a Redis server, and the package for it is not installed. Add "
            "the line of requirements-redis.txt to requirements.txt."
        ) from None
    try:
        store = RedisThreadStore(chosen, hub)
    except ValueError as error:
        raise ConfigurationError(f"AGENT_LOG is not the address of a Redis server: {error}") from None
    if is_hosted(environ) and not needs_shared_stores(environ):
        refuse_unreached(chosen, LOG_SETTING.name)
    return store


def choose_archive(settings: Settings, folder: Path, environ: Mapping[str, str]) -> Archive:
    """Return the archive that `AGENT_ARCHIVE` names; where it names none, one like the log, in production blobs.

    Paths and refusals are those of `choose_thread_store`.
    """
    chosen = ARCHIVE_SETTING.chosen(settings, environ)
    if chosen != "cosmos":
        return Archive(ARCHIVE_SETTING.store(chosen, settings, folder, environ))
    try:
        from hosting.core.stores.cosmos import CosmosObjects, cosmos_account
    except ModuleNotFoundError:
        raise ConfigurationError(
            "AGENT_ARCHIVE is 'cosmos', and the package for it is not installed. Add "
            "the line of requirements-cosmos.txt to requirements.txt."
        ) from None
    account = cosmos_account("AGENT_COSMOS", settings.cosmos, environ)
    return Archive(CosmosObjects(account, settings.cosmos_database, ARCHIVE_SETTING.unavailable))


def choose_attachments(settings: Settings, folder: Path, environ: Mapping[str, str]) -> ObjectStore:
    """Return the store that `AGENT_ATTACHMENTS` names; where it names none, one like the log, in production blobs.

    Paths and refusals are those of `choose_thread_store`.
    """
    return ATTACHMENTS_SETTING.store(ATTACHMENTS_SETTING.chosen(settings, environ), settings, folder, environ)


def choose_stores(settings: Settings, folder: Path, environ: Mapping[str, str], hub: str) -> Stores:
    """Return the stores that the settings name; relative paths are below `folder`.

    Raises `ConfigurationError` as each choice does.
    """
    return Stores(
        hub=hub,
        threads=choose_thread_store(settings, folder, environ, hub),
        archive=choose_archive(settings, folder, environ),
        attachments=choose_attachments(settings, folder, environ),
    )
