"""How much memory a process holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.figures import NotMeasuredError

BYTES_PER_MEGABYTE = 1_000_000


def resident_megabytes(pid: int) -> float:
    """Return the resident set size; raises NotMeasuredError where the system does not tell it to us."""
    if sys.platform == "win32":
        raise NotMeasuredError("Memory is read from /proc or ps, which Windows does not have.")
    return resident_kibibytes(pid) * 1024 / BYTES_PER_MEGABYTE


def resident_kibibytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
        if found is not None:
            return int(found[1])
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(pid)]))
