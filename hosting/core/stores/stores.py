"""The stores of one app, which belong together: all are under the name of its task hub."""

from __future__ import annotations

from msgspec import Struct

from hosting.core.stores.archive import Archive
from hosting.core.stores.contract import ThreadStore
from hosting.ports import ObjectStore


class Stores(Struct, frozen=True):
    """The stores of events, of older entries, and of large contents, all under the task hub's name."""

    hub: str
    threads: ThreadStore
    archive: Archive
    attachments: ObjectStore
