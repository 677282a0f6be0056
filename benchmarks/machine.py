"""What the machine can do without us: the measure by which figures of two machines are compared."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.app_folder import temporary_folder
from benchmarks.samples import median

COMMITS = 300
DOCUMENT = {"history": [{"role": "user", "text": "What is the weather in Paris?", "number": n} for n in range(200)]}
SYNCHRONOUS_SETTING = "AGENT_LOG_SYNCHRONOUS"


def describe_machine() -> str:
    """One line: the system, the SQLite commit, the JSON round trip; and how the threads' log is written."""
    with temporary_folder() as folder:
        normal, full = (commit_seconds(folder, level) for level in ("NORMAL", "FULL"))
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
        f"SQLite commit p50 {normal * 1e6:.0f} us (WAL, NORMAL), {full * 1e6:.0f} us (FULL); "
        f"JSON round trip of {len(json.dumps(DOCUMENT)) / 1000:.0f} kB p50 {json_seconds() * 1e6:.0f} us; "
        f"log synchronous={os.environ.get(SYNCHRONOUS_SETTING) or 'NORMAL'}"
    )


def commit_seconds(folder: Path, synchronous: str) -> float:
    """Return the p50 of a transaction that writes one row of 500 bytes."""
    database = sqlite3.connect(folder / f"{synchronous}.sqlite", isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute(f"PRAGMA synchronous={synchronous}")
        database.execute("CREATE TABLE log (line TEXT)")
        return timed(lambda: database.execute("INSERT INTO log VALUES (?)", ("x" * 500,)))
    finally:
        database.close()


def json_seconds() -> float:
    return timed(lambda: json.loads(json.dumps(DOCUMENT)))


def timed(work: Callable[[], object]) -> float:
    """Return the p50 of the work, done many times."""
    samples = []
    for _ in range(COMMITS):
        began = time.perf_counter()
        work()
        samples.append(time.perf_counter() - began)
    return median(samples)
