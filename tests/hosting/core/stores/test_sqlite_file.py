"""A store's SQLite file, as it is made."""

import contextlib
import sqlite3
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hosting.core.stores.sqlite_file import FileKind

NOTES = FileKind("a file of notes", "NOTES", "CREATE TABLE note (text TEXT)")


@pytest.mark.skipif(sys.platform == "win32", reason="a file system without POSIX modes")
def test_the_folder_that_is_made_for_a_file_is_closed_to_other_users(tmp_path: Path) -> None:
    """Conversations are in it; one that was there keeps its mode, which somebody chose."""
    chosen = tmp_path / "chosen"
    chosen.mkdir(mode=0o755)
    for folder in (tmp_path / "made", chosen):
        NOTES.connect(folder / "notes.sqlite", "NORMAL").close()

    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (tmp_path / "made", chosen)]
    assert modes == [0o700, 0o755]


@pytest.mark.behaviour("log.erase")
def test_two_that_empty_the_write_ahead_log_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """SQLite refuses the second one at once, whatever its time-out is; both wait for the reader here."""
    path = tmp_path / "notes.sqlite"
    with (
        contextlib.closing(NOTES.connect(path, "NORMAL")) as writer,
        contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as reader,
        ThreadPoolExecutor() as pool,
    ):
        writer.execute("INSERT INTO note VALUES ('one')")
        reader.execute("BEGIN")
        reader.execute("SELECT text FROM note").fetchone()
        writer.execute("INSERT INTO note VALUES ('two')")
        threading.Timer(0.3, reader.execute, ("COMMIT",)).start()

        emptied = list(pool.map(lambda _: NOTES.forget_overwritten(path, 10.0), range(2)))

    assert emptied == [True, True]
