"""Gives back the space of payloads that were emptied where they stood."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

logger = logging.getLogger(__name__)

LEAST_RECLAIMED_BYTES = 64 * 1024 * 1024
_USED = "(SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count)"
_IS_DUE = f"SELECT {_USED} > 2 * looked_at_pages + ? / page_size FROM space, pragma_page_size"
_IS_WORTH_IT = "SELECT looked_at_pages < 0 OR (SELECT 2 * count(bytes) <= count(*) FROM payload) FROM space"
BEGIN_RECLAIM = """
PRAGMA secure_delete=ON;
BEGIN IMMEDIATE;
UPDATE space SET looked_at_pages = -1000000000000;
DELETE FROM payload WHERE bytes IS NULL;
COMMIT
"""
_LOOKED_AT = f"UPDATE space SET looked_at_pages = {_USED}"


def is_reclaim_due(connection: sqlite3.Connection, least_bytes: int) -> bool:
    """Tell whether the file is twice as large as when it was last looked at, and by so many bytes larger."""
    return bool(connection.execute(_IS_DUE, (least_bytes,)).fetchone()[0])


def reclaim(path: Path, busy_seconds: float) -> None:
    """Write the file anew without what was emptied, if that is half of the payloads; other writers wait meanwhile.

    To delete the empty payloads moves what stands beside them, and the copies that this leaves are gone when the file
    was written anew. Until then it is due, so that a process that dies between the two has left that to the next one.
    A failure is left to the next time, too.
    """
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
            if connection.execute(_IS_WORTH_IT).fetchone()[0]:
                connection.executescript(BEGIN_RECLAIM)
                connection.execute("VACUUM")
            connection.execute(_LOOKED_AT)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        logger.warning("The space of what was deleted from %s is not given back yet: %s", path, error)
