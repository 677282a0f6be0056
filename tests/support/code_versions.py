"""Folders with other versions of the code: of what they write into logs, and the newest that they read."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.support.running_host import ROOT


def version_of_code(folder: Path, name: str, writes: int, reads: int) -> Path:
    """Return a folder with the code; it writes events of one version, and reads those up to another."""
    copy = folder / name
    if not copy.exists():
        shutil.copytree(ROOT / "hosting", copy / "hosting")
        file = copy / "hosting" / "core" / "thread" / "versions.py"
        text = file.read_text(encoding="utf-8")
        for constant, value in (("VERSION", writes), ("NEWEST_VERSION", reads)):
            text, count = re.subn(rf"^{constant} = \d+$", f"{constant} = {value}", text, flags=re.M)
            assert count == 1
        file.write_text(text, encoding="utf-8")
    return copy
