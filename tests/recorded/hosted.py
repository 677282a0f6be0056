"""The recordings' apps on the local host, driven by the recordings' own drivers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.running_host import ROOT, RunningHost, host_environment

RECORDINGS = ROOT.parent / "shared" / "recordings"
_DRIVER_GUARD_SECONDS = 400
_STARTING = threading.Semaphore(2)
"""Hosts start two by two: all at once, each would take longer than it may."""
DRIVEN = ("-m", "tests.recorded.paced")


LATEST = "durable-3.19"
"""The folder of what Durable Task 3.19 did, as which the local host behaves; beside it lies what 3.14 did."""


PARTS = ("http", "retries", "missing", "completion", "events", "webhooks", "entities", "timers", "mcp")
"""What the driver of the second probe does, in its order."""


@dataclass(frozen=True)
class Recording:
    """One run of one app: the files that hold what the real host did, and the parts in which the driver may do it.

    `hosts` are the folders of the hosts that it was recorded of, by the names that the list of differences has for
    them: its own name for the one as which the local host behaves.
    """

    name: str
    app: str
    driver: str
    exchanges: str | None
    payloads: str
    hosts: Mapping[str, str]
    parts: Sequence[Sequence[str]] = ((),)


def _probe(name: str, *parts: Sequence[str]) -> Recording:
    """Return the recording of a probe, of both hosts."""
    payloads = "payloads.jsonl" if name == "probe" else f"{name}_payloads.jsonl"
    hosts = {name: LATEST, f"{name} 3.14": ""}
    return Recording(name, f"{name}_app", f"drive_{name}.py", f"{name}.jsonl", payloads, hosts, parts or ((),))


ALL = (
    _probe("probe"),
    _probe("probe2", *([part] for part in PARTS)),
    Recording(
        "streaming", "streaming_app", "drive_streaming.py", None, "streaming_payloads.jsonl", {"streaming 3.14": ""}
    ),
)


@dataclass(frozen=True)
class Seen:
    """The files that one run on the local host left."""

    exchanges: Path
    payloads: Path


def drive(recording: Recording, folder: Path) -> Seen:
    """Run the recording's app, unmodified, in copies inside the folder, and its driver against them.

    Drivers wait as long as Microsoft's host took. So their parts are driven at once, each against a host of its own.
    """
    with ThreadPoolExecutor(len(recording.parts)) as threads:
        runs = list(threads.map(lambda part: _driven(recording, folder / "_".join(part), part), recording.parts))
    seen = Seen(folder / "exchanges.jsonl", folder / "payloads.jsonl")
    for name in (seen.exchanges.name, seen.payloads.name):
        written = [path for run in runs if (path := run / name).exists()]  # a part without functions has no payloads
        (folder / name).write_text("".join(path.read_text(encoding="utf-8") for path in written), encoding="utf-8")
    return seen


def _driven(recording: Recording, folder: Path, part: Sequence[str]) -> Path:
    app, seen = folder / recording.app, Seen(folder / "exchanges.jsonl", folder / "payloads.jsonl")
    shutil.copytree(RECORDINGS / recording.app, app)
    _make_writable(app)
    with _STARTING:
        started = RunningHost(app, environ={"PROBE_LOG": str(seen.payloads)})
    with started as host:
        given = (str(RECORDINGS / recording.driver), host.origin, str(seen.exchanges), *part)
        subprocess.run(
            [sys.executable, *DRIVEN, *given],
            env=host_environment(),
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=_DRIVER_GUARD_SECONDS,
        )
    return folder


def _make_writable(folder: Path) -> None:
    """The recordings may be read-only, the host's own folder in the app must not be."""
    for path in (folder, *folder.rglob("*")):
        os.chmod(path, 0o700 if path.is_dir() else 0o600)
