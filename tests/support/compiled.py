"""Copies of sources that Python need not compile again: that takes a host of a copied tree half a second."""

import importlib.util
import shutil
from pathlib import Path


def copy_compiled(source: Path, target: Path) -> None:
    """Copy a file; a module with what this Python compiled of it, which is known by the time of the source."""
    shutil.copyfile(source, target)
    if source.suffix == ".py":
        shutil.copystat(source, target)
        compiled, copied = (Path(importlib.util.cache_from_source(str(path))) for path in (source, target))
        if compiled.is_file():
            copied.parent.mkdir(exist_ok=True)
            shutil.copyfile(compiled, copied)
