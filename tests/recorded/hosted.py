"""The recordings' apps on the local host, driven by the recordings' own drivers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    run: str = "main"
    parts: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)


ALL = (
    Recording(
        "probe",
        "probe_app",
        "drive_probe.py",
        "probe.jsonl",
        "payloads.jsonl",
        {"probe": LATEST, "probe 3.14": ""},
    ),
    Recording(
        "probe2",
        "probe2_app",
        "drive_probe2.py",
        "probe2.jsonl",
        "probe2_payloads.jsonl",
        {"probe2": LATEST, "probe2 3.14": ""},
    ),
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
    with RunningHost(app, environ={"PROBE_LOG": str(seen.payloads), **recording.environ}) as host:
        given = (host.origin, str(seen.exchanges), *recording.parts)
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
