"""The same turns by this app and by the app as it was before its runs moved onto the threads' log: processor time."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from benchmarks.app_folder import ROOT, measured, temporary_folder
from benchmarks.cpu_time import cpu_seconds
from benchmarks.figures import Figure, NotMeasuredError, Result, milliseconds
from benchmarks.host_process import HostProcess
from benchmarks.measures.fresh import PLAIN, fresh_turns
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.warm_up import warm_host

BEFORE = "ec2f902"
AT_ONCE = 50


async def measure(sizes: Sizes) -> Result:
    """Both hosts take as many turns on fresh threads by turns, so that a busy moment meets both.

    Processor time is the whole host's: the run, the entity, and the local engine with its file. Raises NotMeasuredError
    where the commit is not to be had, as in a clone without its history.
    """
    with checkout(BEFORE) as root:
        settings = {"PYTHONPATH": str(root)}
        async with warm_host(sizes, settings, measured(root)) as old, warm_host(sizes) as new:
            rounds = max(1, sizes.fresh_turns // AT_ONCE)
            samples = [(await spent(old.process), await spent(new.process)) for _ in range(rounds)]
    before, now = (median(seconds) for seconds in zip(*samples, strict=True))
    figures = (
        milliseconds(f"processor of a turn at {BEFORE}", before),
        milliseconds("processor of a turn", now),
        Figure("processor over before", now / before),
    )
    return Result(figures, new.empty_route_seconds)


async def spent(host: HostProcess) -> float:
    """Return the processor seconds of a turn, as the middle of several."""
    began = cpu_seconds(host.pid)
    async with host.connection() as connection:
        await fresh_turns(connection, PLAIN, AT_ONCE)
    return (cpu_seconds(host.pid) - began) / AT_ONCE


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of that commit; raises NotMeasuredError where there is none."""
    archived = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archived.returncode != 0:
        raise NotMeasuredError(f"The commit {commit} is not in this clone.")
    with temporary_folder() as folder, tarfile.open(fileobj=BytesIO(archived.stdout)) as files:
        # Of Python 3.11, some have no filters yet.
        files.extraction_filter = getattr(tarfile, "data_filter", None)
        files.extractall(folder)
        yield folder
