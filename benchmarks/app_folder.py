"""The folders that are hosted: temporary ones, so that a benchmark leaves no conversation behind and meets none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = (ROOT / "function_app.py", ROOT / "agents", ROOT / "host.json")
ENGINE = (ROOT / "benchmarks" / "engine_app" / "function_app.py", ROOT / "host.json")
MEASURED = (ROOT / "benchmarks" / "app" / "function_app.py", ROOT / "host.json")


@contextmanager
def copied(parts: tuple[Path, ...]) -> Iterator[Path]:
    """Yield a folder that holds copies of the files and folders; it is deleted at the end."""
    with temporary_folder() as folder:
        for part in parts:
            copy = shutil.copytree if part.is_dir() else shutil.copy
            copy(part, folder / part.name)
        yield folder


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield an empty folder; what cannot be deleted at the end (Windows, a file still open) is left to the system."""
    with tempfile.TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()
