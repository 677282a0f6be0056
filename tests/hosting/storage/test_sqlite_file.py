"""A store's SQLite file, as it is made."""

import stat
import sys
from pathlib import Path

import pytest

from hosting.storage.sqlite_file import FileKind

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
