"""What takes long to make and is not changed by tests: made once, for all test processes of one run."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of that name, which one test process makes for all of this run. Nobody may change it.

    A fixture of the session is of one process: each would take seconds of a processor for the same.
    """
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # what the processes of one run have together
    folder, made = base / name, base / f"{name}-made"
    with FileLock(base / f"{name}.lock"):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed half-way
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
