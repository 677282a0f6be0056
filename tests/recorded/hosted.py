"""The recordings' apps on the local host, driven by the recordings' own drivers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.running_host import ROOT, RunningHost, host_environment

RECORDINGS = ROOT.parent / "shared" / "recordings"
_DRIVER_GUARD_SECONDS = 400
DRIVEN = ("-m", "tests.recorded.paced")


LATEST = "durable-3.19"
"""The folder of what Durable Task 3.19 did, as which the local host behaves; beside it lies what 3.14 did."""


@dataclass(frozen=True)
class Recording:
    """One run of one app: the files that hold what the real host did, and what the driver is given besides.

    `hosts` are the folders of the hosts that it was recorded of, by the names that the list of differences has for
    them: its own name for the one as which the local host behaves.
    """

    name: str
    app: str
    driver: str
    exchanges: str | None
    payloads: str
    hosts: Mapping[str, str]


def _probe(name: str) -> Recording:
    """Return the recording of a probe, of both hosts."""
    payloads = "payloads.jsonl" if name == "probe" else f"{name}_payloads.jsonl"
    hosts = {name: LATEST, f"{name} 3.14": ""}
    return Recording(name, f"{name}_app", f"drive_{name}.py", f"{name}.jsonl", payloads, hosts)


ALL = (
    _probe("probe"),
    _probe("probe2"),
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
    """Run the recording's app, unmodified, in a copy inside the folder, and its driver against it."""
    app = folder / recording.app
    shutil.copytree(RECORDINGS / recording.app, app)
    _make_writable(app)
    seen = Seen(folder / f"{recording.name}.jsonl", folder / f"{recording.name}_payloads.jsonl")
    with RunningHost(app, environ={"PROBE_LOG": str(seen.payloads)}) as host:
        given = (host.origin, str(seen.exchanges))
        subprocess.run(
            [sys.executable, *DRIVEN, str(RECORDINGS / recording.driver), *given],
            env=host_environment(),
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=_DRIVER_GUARD_SECONDS,
        )
    return seen


def _make_writable(folder: Path) -> None:
    """The recordings may be read-only, the host's own folder in the app must not be."""
    for path in (folder, *folder.rglob("*")):
        os.chmod(path, 0o700 if path.is_dir() else 0o600)
