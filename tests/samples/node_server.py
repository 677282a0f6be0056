"""The Node server of a sample's page: its packages from npm, and the server as `npm start` starts it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.samples.folders import SAMPLES, copy_app
from tests.support.node_packages import RegistryUnreachableError, install, node
from tests.support.running_host import RunningHost

NO_LOOKUPS = Path(__file__).with_name("no_lookups.cjs")
OPENED = re.compile(r"Open http://localhost:(\d+)/\n")


def installed(sample: str, cache: Path) -> Path:
    """Return a copy of the sample's folder `web` with its packages; the test is skipped without npm's registry."""
    web = SAMPLES / sample / "web"
    try:
        folder = install(web, cache, with_optional=True)
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of its packages")
    return shutil.copytree(web, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))


@contextmanager
def started(sample: str, packages: Path, folder: Path) -> Iterator[str]:
    """The server on a free port for the sample's app; the file `log` in the folder has what it complains of."""
    program, *arguments = json.loads((packages / "package.json").read_text("utf-8"))["scripts"]["start"].split()
    assert program == "node"
    with RunningHost(copy_app(sample, folder)) as host, (folder / "log").open("wb") as log:
        environ = {"AGENTS_URL": host.origin, "PORT": "0", "NODE_OPTIONS": f"--require={NO_LOOKUPS}"}
        process = subprocess.Popen(
            [node(), *arguments],
            cwd=packages,
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
        try:
            assert process.stdout is not None
            opened = next(filter(None, map(OPENED.fullmatch, process.stdout)), None)
            assert opened, (folder / "log").read_text("utf-8")
            yield f"http://127.0.0.1:{opened[1]}"
        finally:
            process.kill()
            process.wait()
