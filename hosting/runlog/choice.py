"""Which run log the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.ports import RunLogStore
from hosting.runlog.memory import MemoryStore
from hosting.runlog.sqlite import SqliteStore
from hosting.runlog.sqlite_schema import RUN_LOG
from hosting.settings import Settings
from hosting.surroundings import is_hosted, needs_shared_stores

DEFAULT_PATH = Path(".agents") / "runs.sqlite"


def choose_store(settings: Settings, folder: Path, environ: Mapping[str, str]) -> RunLogStore:
    """Return the store that `AGENT_RUN_LOG` names; where it names none, a file, and in production the storage account.

    Relative paths are below `folder`, the app's root. Refusals are `ConfigurationError`: memory and files in
    production, a file that cannot be used, an account that no setting names, a package that is not installed.
    """
    must_be_shared = needs_shared_stores(environ)
    is_named = "run_log" in settings.model_fields_set
    chosen = settings.run_log if is_named or not must_be_shared else "blob"
    if must_be_shared:
        _refuse_unshared(chosen)
    if chosen == "memory":
        return MemoryStore()
    if chosen == "blob":
        return _blob(environ)
    if chosen.startswith(("redis://", "rediss://")):
        return _redis(chosen, environ)
    path = sqlite_path(settings, folder)
    RUN_LOG.refuse_unusable(path, settings.run_log_synchronous, environ)
    return SqliteStore(path, settings.run_log_synchronous)


def sqlite_path(settings: Settings, folder: Path) -> Path:
    """Return the file of a run log in SQLite, where it is or would be."""
    kind, _, path = settings.run_log.partition(":")
    return folder / (path if kind == "sqlite" and path else DEFAULT_PATH)


def _refuse_unshared(chosen: str) -> None:
    if chosen.startswith(("memory", "sqlite")):
        raise ConfigurationError(
            f"AGENT_RUN_LOG is {chosen!r}, which other instances cannot read, and the one that answers a request is "
            "rarely the one that runs its agent. Leave AGENT_RUN_LOG out in production, which keeps run logs in the "
            "app's storage account, or name a Redis server."
        )


def _blob(environ: Mapping[str, str]) -> RunLogStore:
    """Imported here, because the storage client takes longer to load than a start on one machine may."""
    from hosting.runlog.blob import BlobStore, run_log_container
    from hosting.storage.blob_account import storage_account

    return BlobStore(run_log_container(storage_account(environ)))


def _redis(url: str, environ: Mapping[str, str]) -> RunLogStore:
    """Nobody who does not ask for Redis needs its client.

    On a developer's machine a server that is not there is refused. In production it may come back at any moment, and
    an instance that starts meanwhile must then be there.
    """
    try:
        from hosting.runlog.redis import RedisStore
        from hosting.storage.redis_server import refuse_unreached
    except ModuleNotFoundError:
        raise ConfigurationError(
            "AGENT_RUN_LOG names a Redis server, and the package for it is not installed. Add the line of "
            "requirements-redis.txt to requirements.txt."
        ) from None
    try:
        store = RedisStore(url)
    except ValueError as error:
        raise ConfigurationError(f"AGENT_RUN_LOG is no address of a Redis server: {error}") from None
    if is_hosted(environ) and not needs_shared_stores(environ):
        refuse_unreached(url, "AGENT_RUN_LOG")
    return store
