"""Which archive an app gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting.archive.choice import choose_archive
from hosting.archive.memory import MemoryArchive
from hosting.archive.sqlite import ARCHIVE, SqliteArchive
from hosting.errors import ConfigurationError
from hosting.events import Place
from hosting.ports import Volume
from hosting.settings import read_settings


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({}, SqliteArchive),
        ({"AGENT_ARCHIVE": "sqlite"}, SqliteArchive),
        ({"AGENT_ARCHIVE": "memory"}, MemoryArchive),
        ({"AGENT_RUN_LOG": "memory"}, MemoryArchive),
        ({"AGENT_RUN_LOG": "memory", "AGENT_ARCHIVE": "sqlite"}, SqliteArchive),
    ],
)
def test_the_setting_names_the_archive(environ: dict[str, str], kind: type, tmp_path: Path) -> None:
    """Without it the archive is kept as the run log is."""
    assert isinstance(choose_archive(read_settings(environ), tmp_path), kind)


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        ({}, ".agents/archive.sqlite"),
        ({"AGENT_RUN_LOG": "sqlite:logs/runs.sqlite"}, "logs/archive.sqlite"),
        ({"AGENT_ARCHIVE": "sqlite:kept/long.sqlite"}, "kept/long.sqlite"),
    ],
)
async def test_the_file_stands_beside_the_run_log_unless_it_is_named(
    environ: dict[str, str], file: str, tmp_path: Path
) -> None:
    """It is made by the first entry."""
    archive = choose_archive(read_settings(environ), tmp_path)
    assert not (tmp_path / file).exists()

    await archive.put(Volume(Place("joker", "t"), 0), 1, ["{}"])
    await archive.close()

    assert (tmp_path / file).exists()


def test_an_archive_of_a_newer_version_is_refused_at_start_up(tmp_path: Path) -> None:
    """The sentence names the setting."""
    connection = ARCHIVE.connect(tmp_path / "archive.sqlite", "NORMAL")
    connection.execute(f"PRAGMA user_version={ARCHIVE.version + 1}")
    connection.close()

    with pytest.raises(ConfigurationError, match=r"The archive .* set AGENT_ARCHIVE to another file"):
        choose_archive(read_settings({"AGENT_ARCHIVE": "sqlite:archive.sqlite"}), tmp_path)
