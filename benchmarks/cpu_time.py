"""How much processor time a process has used."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.figures import NotMeasuredError

_USER, _SYSTEM = 11, 12  # places behind the name in /proc/PID/stat, which may hold spaces


def cpu_seconds(pid: int) -> float:
    """Return the seconds in user and system mode; raises NotMeasuredError where there is no /proc."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        raise NotMeasuredError("Processor time is read from /proc, which only Linux has.")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / float(os.sysconf("SC_CLK_TCK"))
