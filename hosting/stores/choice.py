"""Which store of threads' logs the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.settings import Settings
from hosting.stores.contract import ThreadStore
from hosting.stores.memory import MemoryThreadStore
from hosting.stores.sqlite import SqliteThreadStore
from hosting.stores.sqlite_steps import THREADS
from hosting.surroundings import is_hosted, needs_shared_stores

DEFAULT_PATH = Path(".agents") / "log.sqlite"
_SETTING = "AGENT_LOG"


def choose_thread_store(settings: Settings, folder: Path, environ: Mapping[str, str], hub: str) -> ThreadStore:
    """Return the store that `AGENT_LOG` names; where it names none, a file, and in production the account's tables.

    It is opened under the task hub's name (`task_hub`). Relative paths are below `folder`, the app's root. Refusals are
    `ConfigurationError`: memory and files in production, a file that cannot be used, an account that no setting names,
    a package that is not installed.
    """
    must_be_shared = needs_shared_stores(environ)
    is_named = "log" in settings.model_fields_set
    chosen = settings.log if is_named or not must_be_shared else "tables"
    if must_be_shared and chosen.startswith(("memory", "sqlite")):
        raise ConfigurationError(
            f"{_SETTING} is {chosen!r}, which other instances cannot read, and threads belong to all of them. Leave "
            f"{_SETTING} out in production, which keeps the log in the app's storage account, or name a Redis server."
        )
    if chosen == "memory":
        return MemoryThreadStore(hub)
    if chosen == "tables":
        return _tables(environ, hub)
    if chosen.startswith(("redis://", "rediss://")):
        return _redis(chosen, environ, hub)
    path = folder / (chosen.partition(":")[2] or DEFAULT_PATH)
    THREADS.refuse_unusable(path, settings.run_log_synchronous, environ)
    return SqliteThreadStore(path, hub, settings.run_log_synchronous)


def _tables(environ: Mapping[str, str], hub: str) -> ThreadStore:
    """Imported here, because the storage client takes longer to load than a start on one machine may."""
    from hosting.storage.table_account import table_account
    from hosting.stores.tables import TablesThreadStore

    return TablesThreadStore(table_account(environ, _SETTING), hub)


def _redis(url: str, environ: Mapping[str, str], hub: str) -> ThreadStore:
    """Nobody who does not ask for Redis needs its client.

    On a developer's machine a server that is not there is refused. In production it may come back at any moment, and
    an instance that starts meanwhile must then be there.
    """
    try:
        from hosting.storage.redis_server import refuse_unreached
        from hosting.stores.redis import RedisThreadStore
    except ModuleNotFoundError:
        raise ConfigurationError(
            f"{_SETTING} names a Redis server, and the package for it is not installed. Add the line of "
            "requirements-redis.txt to requirements.txt."
        ) from None
    try:
        store = RedisThreadStore(url, hub)
    except ValueError as error:
        raise ConfigurationError(f"{_SETTING} is no address of a Redis server: {error}") from None
    if is_hosted(environ) and not needs_shared_stores(environ):
        refuse_unreached(url, _SETTING)
    return store
