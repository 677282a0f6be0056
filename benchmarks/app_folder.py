"""The folders that are hosted: temporary ones, so that a benchmark leaves no conversation behind and meets none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = (ROOT / "function_app.py", ROOT / "agents", ROOT / "host.json")
ENGINE = (ROOT / "benchmarks" / "engine_app" / "function_app.py", ROOT / "host.json")


def measured(root: Path = ROOT) -> tuple[Path, ...]:
    """Return the parts of the app that is measured, of this checkout or another."""
    return (root / "benchmarks" / "app" / "function_app.py", root / "host.json")


MEASURED = measured()


@contextmanager
def copied(parts: Iterable[Path]) -> Iterator[Path]:
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
