"""How each kind of store of threads' logs is opened at a place: all that another process needs.

It imports no pytest: that would take a process longer than what it is started for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.memory import MemoryThreadStore, SharedMemory
from hosting.core.stores.redis import RedisThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.storage_account import table_account
from hosting.core.stores.tables import TablesThreadStore

_MEMORIES: defaultdict[str, SharedMemory] = defaultdict(SharedMemory)


def _open_tables(place: str, hub: str) -> TablesThreadStore:
    prefix, account = place.split(" ", 1)
    return TablesThreadStore(table_account({"AzureWebJobsStorage": account}, "TEST"), f"{prefix}{hub}")


OPEN: dict[str, Callable[[str, str], ThreadStore]] = {
    "memory": lambda place, hub: MemoryThreadStore(hub, _MEMORIES[place]),
    "sqlite": lambda place, hub: SqliteThreadStore(Path(place), hub),
    "tables": _open_tables,
    "redis": RedisThreadStore,
}
"""By kind: what opens the logs of a hub at a place. A place is a path, an address, or a prefix and an account."""
